/** The global `process` of Node in the runtime `core`: the bundler puts it into the modules that name it. */
export { default as process } from './process.ts'
