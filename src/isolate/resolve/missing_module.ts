/**
 * Modules that a program cannot hold, in the bundle as ones that throw. A package that does without (`pg-native`, `bufferutil`, `canvas`, a
 * platform's binary) asks for them in a `try`, by `require` or `import()`, and expects the failure there.
 */

/** Namespace of modules that were not found. */
export const MISSING_NAMESPACE = 'missing'
const ADD_ON = /\.node$/

/** Whether it is machine code for Node. */
export function isAddOn(specifier: string): boolean {
  return ADD_ON.test(specifier)
}

/** The source of a module that was not found; `reason` is a line that says why. Node's code says how it was asked for. */
export function missingModule(specifier: string, kind: string, reason: string): string {
  if (isAddOn(specifier)) return addOnModule(specifier)
  const code = kind === 'require-call' ? 'MODULE_NOT_FOUND' : 'ERR_MODULE_NOT_FOUND'
  return throwingModule(`Cannot find module '${specifier}': it is not in the program, ${reason}`, code)
}

/** The source of a module that is a native add-on. */
export function addOnModule(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const message =
    `Cannot load '${name}': it is a native add-on, and isolated handlers load no native code, ` +
    'want a package in JavaScript or WebAssembly, or a route without isolated'
  return throwingModule(message, 'ERR_DLOPEN_FAILED')
}

/** The source of a module of CommonJS: its error comes from the call that asks for it, each time. */
export function throwingModule(message: string, code: string): string {
  return `throw Object.assign(new Error(${JSON.stringify(message)}), { code: ${
    JSON.stringify(code)
  }, requireStack: [] })
module.exports = null`
}
