/** Programs as they are handed in, and what of them goes to a machine. */
import type { GuestProgram, ModuleEntry, ModuleKind } from './message.ts'
import type { SandboxLimits } from './limits.ts'
import { isProgram } from '../isolate/plan/executable.ts'
import { isBinding, toBindings } from '../reach/calls/bindings.ts'
import type { ReachNames } from '../reach/calls/protocol.ts'
import type { Reach } from '../reach/calls/conversation.ts'
import { type OptionRule, rule } from '../options/rule.ts'
import { parseSourceMap } from '../compiler/source_map.ts'
import { Outbound } from '../reach/outbound/fetch.ts'
import {
  type OutboundFunction,
  type OutboundHost,
  type OutboundList,
  toPolicy,
} from '../reach/outbound/policy.ts'

import { cleanStack, type ToStack } from './stack.ts'

/** A module that says what it is. */
export type ModuleSource =
  | { readonly js: string }
  | { readonly ts: string }
  | { readonly json: unknown }
  | { readonly text: string }
  | { readonly data: ArrayBuffer | Uint8Array }
  | { readonly wasm: ArrayBuffer | Uint8Array }

/** Nothing; hosts; hosts with headers and bounds; or what answers in place of the network. */
export type SandboxOutbound = null | readonly (string | OutboundHost)[] | OutboundList | OutboundFunction

/** What `outbound` must be; the list is looked at when a program is loaded. */
export const OUTBOUND_RULE: OptionRule = rule(
  'null, an array of hosts, an object with allow, or a function',
  (value) => value === null || typeof value === 'object' || typeof value === 'function',
)

/** A program of several modules, in the shape of a Worker's. */
export interface SandboxCode<Env extends object = Readonly<Record<string, unknown>>> {
  /** Name of the module that is run. */
  readonly mainModule: string
  /** By name, as imports write it behind `./`; a text is what its name's ending says: `.js` `.mjs` `.ts` `.mts` `.json` `.txt` `.html` `.css` `.md`. */
  readonly modules: Readonly<Record<string, string | ModuleSource>>
  /** Source maps, as JSON, of modules that were made of others: stacks then name what they were made of. By the names of these modules. */
  readonly sourceMaps?: Readonly<Record<string, string>> | undefined
  /** For `fetch` and for classes: data, and bindings, which are functions of the host, objects of such, or other programs. */
  readonly env?: Env | undefined
  /** What the program's `fetch` reaches. Default: nothing. */
  readonly outbound?: SandboxOutbound | undefined
  /** As {@linkcode outbound}, by the name that Workers have for it. */
  readonly globalOutbound?: SandboxOutbound | undefined
  readonly limits?: SandboxLimits | undefined
  /** The code is trusted: it is bundled with the packages that it imports, on the host, as routes are. Default false. */
  readonly npm?: boolean | undefined
  /**
   * The main module is a Linux program, as `{ data }`; this is its absolute path on the host, by which its libraries are found. It answers
   * `fetch`, and has nothing to call; texts in `env` are its environment. Other modules are not its.
   */
  readonly native?: string | undefined
  /** Taken as Workers have them, and of no effect: the runtime is the one that is installed. */
  readonly compatibilityDate?: string
  readonly compatibilityFlags?: readonly string[]
}

/** A program that was looked at. */
export interface CheckedCode {
  readonly program: GuestProgram
  /** Makes its stacks ready for people. */
  readonly toStack: ToStack
  /** Its data. */
  readonly env: Readonly<Record<string, unknown>>
  /** What it may ask of the host; null: nothing. */
  readonly reach: Omit<Reach, 'program'> | null
  /** What it is told of that; undefined: there is nothing. */
  readonly names: ReachNames | undefined
  readonly limits: SandboxLimits
  /** Bytes of all modules and their source maps. */
  readonly bytes: number
  /** One of them is TypeScript. */
  readonly typed: boolean
  /** It is a Linux program. */
  readonly native: NativeCode | undefined
}

/** A Linux program that was handed in. */
export interface NativeCode {
  /** Of the host. */
  readonly path: string
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly env: Readonly<Record<string, string>>
}

/** Modules of one program. */
const MAX_MODULES = 1000
/** Bytes of them. */
const MAX_CODE_BYTES = 64 << 20
const MAX_NAME = 512
const NAME = /^[\w@$~.+-][\w@$~.+/-]*$/

/** What a module that is text is, by the ending of its name. */
const ENDINGS: readonly (readonly [RegExp, ModuleKind])[] = [
  [/\.m?js$/, 'js'],
  [/\.m?ts$/, 'ts'],
  [/\.json$/, 'json'],
  [/\.(?:txt|html|css|md)$/, 'text'],
]

/** What a program may say of itself. */
const MEMBERS: ReadonlySet<string> = new Set([
  'mainModule',
  'modules',
  'sourceMaps',
  'env',
  'outbound',
  'globalOutbound',
  'limits',
  'npm',
  'native',
  'compatibilityDate',
  'compatibilityFlags',
])

/** Looks at a program; nothing of its code is read. Throws `TypeError` or `RangeError` that says what is wrong with it. */
export function checkCode(code: SandboxCode): CheckedCode {
  if (typeof code !== 'object' || code === null) {
    throw new TypeError(`Cannot load a program: it is ${Deno.inspect(code)}, want { mainModule, modules }`)
  }
  const unknown = Object.keys(code).find((key) => !MEMBERS.has(key))
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot load a program: it has no member ${unknown}, want one of ${[...MEMBERS].join(' ')}`,
    )
  }
  const { mainModule, modules, sourceMaps = {}, env = {}, limits = {} } = code
  if (typeof modules !== 'object' || modules === null) {
    throw new TypeError(
      `Cannot load a program: modules is ${Deno.inspect(modules)}, want an object of sources`,
    )
  }
  const names = Object.keys(modules)
  if (names.length > MAX_MODULES) {
    throw new RangeError(`Cannot load a program: ${names.length} modules, want at most ${MAX_MODULES}`)
  }
  if (!names.includes(mainModule)) {
    throw new TypeError(
      `Cannot load a program: mainModule is ${Deno.inspect(mainModule)}, want one of its modules: ${
        names.slice(0, 10).join(', ')
      }`,
    )
  }
  const entries = names.map((name) => toEntry(name, modules[name]!))
  const bytes = bytesOf(entries, sourceMaps)
  if (bytes > MAX_CODE_BYTES) {
    throw new RangeError(`Cannot load a program: ${bytes} bytes of modules, want at most ${MAX_CODE_BYTES}`)
  }
  if (code.npm !== undefined && typeof code.npm !== 'boolean') {
    throw new TypeError(`Cannot load a program: npm is ${Deno.inspect(code.npm)}, want true or false`)
  }
  const native = code.native === undefined ? undefined : toNative(code, entries)
  return {
    native,
    program: { main: mainModule, modules: entries },
    toStack: createToStack(sourceMaps, names),
    ...checkReach(env, code.outbound ?? code.globalOutbound ?? null),
    limits,
    bytes,
    typed: entries.some(([, kind]) => kind === 'ts'),
  }
}

/** Bytes that count: those of all modules, and of their source maps. */
export function bytesOf(
  entries: readonly ModuleEntry[],
  sourceMaps: Readonly<Record<string, unknown>>,
): number {
  const bytes = entries.reduce((sum, [name, , content]) => sum + name.length + content.length, 0)
  return Object.values(sourceMaps).reduce<number>((sum, map) => sum + String(map).length, bytes)
}

/** What makes stacks of a program ready for people. Throws `TypeError` for a map that is none, and for one of no module. */
export function createToStack(
  sourceMaps: Readonly<Record<string, unknown>>,
  names: readonly string[],
): ToStack {
  const entries = Object.entries(sourceMaps)
  if (entries.length === 0) return cleanStack
  const maps = new Map(entries.map(([name, json]) => {
    const attempt = `Cannot load a program: sourceMaps has ${Deno.inspect(name.slice(0, 80))}`
    if (!names.includes(name)) throw new TypeError(`${attempt}, want a name of its modules`)
    try {
      return [name, parseSourceMap(json as string)]
    } catch (cause) {
      throw new TypeError(`${attempt}, which is no source map: ${(cause as Error).message}`, { cause })
    }
  }))
  return (stack) => cleanStack(stack, maps)
}

function toNative(code: SandboxCode, entries: readonly ModuleEntry[]): NativeCode {
  const attempt = 'Cannot load a program'
  const { native, mainModule, env = {} } = code
  const [, , bytes] = entries.find(([name]) => name === mainModule)!
  if (typeof native !== 'string' || !native.startsWith('/')) {
    throw new TypeError(`${attempt}: native is ${Deno.inspect(native)}, want an absolute path`)
  }
  if (!(bytes instanceof Uint8Array) || !isProgram(bytes)) {
    throw new TypeError(`${attempt}: ${mainModule} is no program of Linux on x86-64, want { data } of one`)
  }
  if ((code.outbound ?? code.globalOutbound ?? null) !== null) {
    throw new TypeError(`${attempt}: outbound is given, want none for a native program`)
  }
  const texts = Object.entries(env).filter(([, value]) => !isBinding(value))
  const odd = texts.find(([name, value]) =>
    typeof value !== 'string' || !/^[A-Za-z_]\w*$/.test(name) || value.includes('\0')
  )
  if (odd !== undefined) {
    throw new TypeError(
      `${attempt}: env.${odd[0]} is ${Deno.inspect(odd[1])}, want text, or functions, for a native program`,
    )
  }
  return {
    path: native,
    bytes: bytes as Uint8Array<ArrayBuffer>,
    env: Object.fromEntries(texts) as Record<string, string>,
  }
}

/** The program of one text. */
export function checkText(
  text: string,
  language: 'js' | 'ts',
  reach: Pick<SandboxCode, 'env' | 'outbound'> = {},
): CheckedCode {
  if (language !== 'js' && language !== 'ts') {
    throw new TypeError(`Cannot run a program: language is ${Deno.inspect(language)}, want 'js' or 'ts'`)
  }
  const mainModule = `main.${language}`
  return checkCode({ mainModule, modules: { [mainModule]: text }, ...reach })
}

function toEntry(name: string, source: string | ModuleSource): ModuleEntry {
  if (name.length > MAX_NAME || !NAME.test(name) || name.split('/').some((part) => /^\.*$/.test(part))) {
    throw new TypeError(
      `Cannot load a program: a module is called ${
        Deno.inspect(name.slice(0, 80))
      }, want a path of letters, digits and @$~.+_-`,
    )
  }
  if (typeof source === 'string') return toNamedEntry(name, source)
  const members = typeof source === 'object' && source !== null ? Object.entries(source) : []
  const [kind, content] = members.length === 1 ? members[0]! : []
  if ((kind === 'js' || kind === 'ts' || kind === 'text') && typeof content === 'string') {
    return [name, kind, content]
  }
  if (kind === 'json') {
    const text = JSON.stringify(content)
    if (text !== undefined) return [name, kind, text]
  }
  if (kind === 'data' || kind === 'wasm') {
    if (content instanceof Uint8Array) return [name, kind, content.slice()]
    if (content instanceof ArrayBuffer) return [name, kind, new Uint8Array(content.slice())]
  }
  throw new TypeError(
    `Cannot load a program: its module ${name} is ${
      kind === undefined ? Deno.inspect(source, { depth: 0 }) : `of the kind '${kind}' with ${typeof content}`
    }, want text, or one of { js } { ts } { json } { text } { data } { wasm }`,
  )
}

function toNamedEntry(name: string, text: string): ModuleEntry {
  const kind = ENDINGS.find(([ending]) => ending.test(name))?.[1]
  if (kind === undefined) {
    throw new TypeError(
      `Cannot load a program: its module ${name} is text with no known ending, want { js: text } or another kind`,
    )
  }
  return [name, kind, text]
}

/** Exchanges of one run with the host. */
const MAX_CALLS = 10_000

/** What a program is given, data and bindings apart. */
function checkReach(
  env: Readonly<Record<string, unknown>>,
  outbound: SandboxOutbound,
): Pick<CheckedCode, 'env' | 'reach' | 'names'> {
  if (typeof env !== 'object' || env === null) {
    throw new TypeError(`Cannot load a program: env is ${Deno.inspect(env)}, want an object`)
  }
  const entries = Object.entries(env)
  const given = entries.filter(([, value]) => isBinding(value))
  const data = Object.fromEntries(entries.filter(([, value]) => !isBinding(value)))
  if (given.length === 0 && outbound === null) return { env: data, reach: null, names: undefined }
  const bindings = toBindings('load a program', Object.fromEntries(given))
  return {
    env: data,
    reach: { bindings, outbound: toOutbound(outbound), calls: MAX_CALLS },
    names: { bindings: bindings.names, fetches: outbound !== null },
  }
}

function toOutbound(outbound: SandboxOutbound): Reach['outbound'] {
  if (outbound === null || typeof outbound === 'function') return outbound
  if (typeof outbound === 'object') return new Outbound(toPolicy(outbound))
  throw new TypeError(
    `Cannot load a program: outbound is ${Deno.inspect(outbound)}, want null, a list of hosts, or a function`,
  )
}
