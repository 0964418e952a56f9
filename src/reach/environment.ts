/** What a program finds in its environment, as types: for TypeScript beside the host, and as a text for authors elsewhere. */
import { BINDING, isBinding } from './calls/bindings.ts'

/**
 * The environment as its program has it: data as it is, functions asynchronous, of other programs each function and `fetch`.
 *
 * ```ts ignore
 * const env = { GREETING: 'hi', MAIL: { send: (to: string) => to.length } }
 * declare module '@mayfly/mayfly' {
 *   interface ContextEnv extends ProgramEnv<typeof env> {}
 * }
 * ```
 */
export type ProgramEnv<Env> = { readonly [Name in keyof Env]: Reached<Env[Name]> }

/** One member of it. */
export type Reached<T> = T extends { readonly [BINDING]: unknown } ? ReachedProgram
  : T extends (...args: infer Args) => infer Result ? (...args: Args) => Promise<Awaited<Result>>
  : T extends object ? HasFunction<T> extends true ? { readonly [Name in keyof T]: Reached<T[Name]> } : T
  : T

type HasFunction<T> = true extends
  { [Name in keyof T]: T[Name] extends (...args: never[]) => unknown ? true : false }[keyof T] ? true
  : false

/** Another program. */
export type ReachedProgram =
  & { readonly fetch: typeof fetch }
  & Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>

/** What {@linkcode environmentTypes} cannot see of functions: their signatures, by `NAME` or `NAME.member`. */
export type Signatures = Readonly<Record<string, string>>

const KV: Signatures = {
  get: '(key: string): Promise<unknown>',
  set: '(key: string, value: unknown, options?: { ttlMs?: number }): Promise<void>',
  delete: '(key: string): Promise<boolean>',
  list:
    '(options?: { prefix?: string; cursor?: string; limit?: number }): Promise<{ keys: string[]; cursor: string | null }>',
  compareAndSet:
    '(key: string, expected: unknown, value: unknown, options?: { ttlMs?: number }): Promise<boolean>',
  increment: '(key: string, by?: number, options?: { ttlMs?: number }): Promise<number>',
}
const UNKNOWN = '(...args: unknown[]): Promise<unknown>'
const PROGRAM =
  '{ readonly fetch: typeof fetch } & Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>'
/** How far data is looked into. */
const MAX_DEPTH = 8

/**
 * The text of a `.d.ts` that declares `Env`, for authors of programs. A function's arguments are unknown where `signatures` has none of
 * its name, such as `{ 'MAIL.send': '(to: string): Promise<void>' }`. Throws `TypeError` for a signature of what is no function.
 */
export function environmentTypes(
  env: Readonly<Record<string, unknown>>,
  signatures: Signatures = {},
): string {
  const left = new Set(Object.keys(signatures))
  const signatureOf = (name: string, other = UNKNOWN) => {
    left.delete(name)
    return signatures[name] ?? other
  }
  const lines = Object.entries(env).map(([name, value]) =>
    typeof value === 'function'
      ? `  ${toKey(name)}${signatureOf(name)}`
      : `  readonly ${toKey(name)}: ${
        isBinding(value) ? toObject(name, value as object, signatureOf) : toType(value, 0)
      }`
  )
  const [wrong] = left
  if (wrong !== undefined) {
    throw new TypeError(
      `Cannot declare an environment: there is a signature of '${wrong}', want a function of it`,
    )
  }
  return ['/** What the host gives this program. */', 'export interface Env {', ...lines, '}', ''].join('\n')
}

function toObject(
  name: string,
  value: object,
  signatureOf: (name: string, other?: string) => string,
): string {
  if (BINDING in value) return PROGRAM
  const members = Object.keys(value)
  const isKv = members.length === Object.keys(KV).length &&
    members.every((member) => Object.hasOwn(KV, member))
  const lines = members.map((member) =>
    `    ${toKey(member)}${signatureOf(`${name}.${member}`, isKv ? KV[member] : UNKNOWN)}`
  )
  return ['{', ...lines, '  }'].join('\n')
}

/** Data as the type that it is of. */
function toType(value: unknown, depth: number): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return typeof value
  if (depth === MAX_DEPTH) return 'unknown'
  if (Array.isArray(value)) {
    const kinds = new Set(value.map((member) => toType(member, depth + 1)))
    return kinds.size === 0 ? 'unknown[]' : `(${[...kinds].join(' | ')})[]`
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    const named = Object.prototype.toString.call(value).slice(8, -1)
    return named === 'Map' ? 'Map<unknown, unknown>' : named === 'Set' ? 'Set<unknown>' : named
  }
  const members = Object.entries(value).map(([name, member]) =>
    `readonly ${toKey(name)}: ${toType(member, depth + 1)}`
  )
  return members.length === 0 ? '{}' : `{ ${members.join('; ')} }`
}

function toKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}
