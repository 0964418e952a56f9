/** What a bundled module that runs beside no guest asks of one: `@mayfly/mayfly` in it, `import.meta` and `require`. */
export { HttpError } from '../../errors/http_error.ts'
export { createRequire, createResolve, describeModule, rememberModules } from './modules.ts'
