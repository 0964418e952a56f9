/** Node's `util` in the runtime `core`: what npm's `util` has, and what Node has added since. */
import legacy from 'node-in-core/util'
import { deepStrictEqual } from 'node:assert'

/** Escape sequences of terminals, as Node's own function finds them. */
const CONTROL =
  // deno-lint-ignore no-control-regex
  /[\u001b\u009b][[\]()#;?]*(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?(?:\u0007|\u001b\u005c|\u009c)|(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~])/g

const added = {
  TextDecoder: globalThis.TextDecoder,
  TextEncoder: globalThis.TextEncoder,
  isDeepStrictEqual(left: unknown, right: unknown): boolean {
    try {
      deepStrictEqual(left, right)
      return true
    } catch {
      return false
    }
  },
  stripVTControlCharacters: (text: string): string => text.replace(CONTROL, ''),
  toUSVString: (text: unknown): string => String(text).toWellFormed(),
}

Object.assign(legacy.inspect, { custom: Symbol.for('nodejs.util.inspect.custom') })

const util = { ...legacy, ...added }
export default util
export const {
  callbackify,
  debuglog,
  deprecate,
  format,
  inherits,
  inspect,
  isArray,
  isBoolean,
  isBuffer,
  isDate,
  isDeepStrictEqual,
  isError,
  isFunction,
  isNull,
  isNullOrUndefined,
  isNumber,
  isObject,
  isPrimitive,
  isRegExp,
  isString,
  isSymbol,
  isUndefined,
  log,
  promisify,
  stripVTControlCharacters,
  TextDecoder,
  TextEncoder,
  toUSVString,
  types,
  _extend,
} = util
