/** What this runtime has not, and what says so. */
import { DOMException } from './dom_exception.ts'

/** Functions that throw when they are called. */
export const MISSING_FUNCTIONS = [
  ...['fetch', 'reportError', 'addEventListener', 'removeEventListener', 'dispatchEvent'],
  ...['createImageBitmap', 'alert', 'confirm', 'prompt'],
] as const

/** Classes that throw when they are constructed. */
export const MISSING_CLASSES = [
  ...['WebSocket', 'EventSource', 'Worker', 'BroadcastChannel'],
  ...['CompressionStream', 'DecompressionStream', 'TransformStream', 'WritableStream'],
  ...['TextDecoderStream', 'TextEncoderStream', 'ByteLengthQueuingStrategy', 'CountQueuingStrategy'],
  ...['FileReader', 'URLPattern', 'PerformanceObserver', 'ErrorEvent', 'CloseEvent'],
  ...['ProgressEvent', 'PromiseRejectionEvent', 'ImageData'],
] as const

/** What the modules of Node's packages find beside the globals. */
export const COMMON_JS = ['require', 'module', 'exports', '__dirname', '__filename'] as const

/**
 * Namespaces, objects, and interfaces of what only they give. They are not defined, so that a package's `typeof process` finds its way (one
 * that throws would do so for `typeof` as well); {@link explain} adds to the error of one that is used all the same, where nobody caught it.
 */
export const MISSING_OBJECTS: ReadonlySet<string> = new Set([
  ...['Deno', 'process', 'Buffer', 'global', ...COMMON_JS],
  ...['WebAssembly', 'Temporal', 'localStorage', 'sessionStorage', 'caches', 'navigator', 'location'],
  ...['Storage', 'Cache', 'CacheStorage', 'Navigator', 'Location', 'Lock', 'LockManager'],
  ...['WritableStreamDefaultController', 'WritableStreamDefaultWriter', 'TransformStreamDefaultController'],
  ...['ReadableByteStreamController', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest'],
  ...['PerformanceMark', 'PerformanceMeasure', 'PerformanceObserverEntryList', 'QuotaExceededError'],
  ...['DOMMatrix', 'DOMPoint', 'DOMQuad', 'DOMRect', 'ImageBitmap', 'OffscreenCanvas'],
])

/** Says what is missing, in which runtime, and which one has it. */
export function describe(what: string): string {
  return `${what} is not there in the runtime 'core', want isolated = { runtime: 'deno' }`
}

/** The error of using what is missing. */
export function refuse(what: string): DOMException {
  return new DOMException(describe(what), 'NotSupportedError')
}

/**
 * What the message of an error leaves out: that another runtime has the name. Of `Deno`, where a program's variables make it there, that
 * is any member that is called. Undefined for other errors.
 */
export function explain(error: unknown): string | undefined {
  if (error instanceof ReferenceError) {
    const name = /^'?(\w+)'? is not defined$/.exec(error.message)?.[1]
    return name !== undefined && MISSING_OBJECTS.has(name) ? describe(name) : undefined
  }
  if (!(error instanceof TypeError)) return undefined
  const member = /^(Deno(?:\.\w+)+) is not a function$/.exec(error.message)?.[1]
  return member === undefined ? undefined : describe(member)
}

/** Functions and classes by name. */
export function missingGlobals(): Record<string, unknown> {
  const made: Record<string, unknown> = {}
  for (const name of MISSING_FUNCTIONS) {
    made[name] = {
      [name]() {
        throw refuse(name)
      },
    }[name]
  }
  for (const name of MISSING_CLASSES) {
    made[name] = class {
      static readonly name: string = name
      constructor() {
        throw refuse(name)
      }
    }
  }
  return made
}
