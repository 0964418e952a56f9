/** Programs as they are handed in, and what of them goes to a machine. */
import type { GuestProgram, ModuleEntry, ModuleKind } from './message.ts'
import type { SandboxLimits } from './limits.ts'

/** A module that says what it is. */
export type ModuleSource =
  | { readonly js: string }
  | { readonly ts: string }
  | { readonly json: unknown }
  | { readonly text: string }
  | { readonly data: ArrayBuffer | Uint8Array }
  | { readonly wasm: ArrayBuffer | Uint8Array }

/** A program of several modules, in the shape of a Worker's. */
export interface SandboxCode {
  /** Name of the module that is run. */
  readonly mainModule: string
  /** By name, as imports write it behind `./`; a text is what its name's ending says: `.js` `.mjs` `.ts` `.mts` `.json` `.txt` `.html` `.css` `.md`. */
  readonly modules: Readonly<Record<string, string | ModuleSource>>
  /** Data for `fetch` and for classes. Functions, which would be calls to the host, are refused for now. */
  readonly env?: Readonly<Record<string, unknown>>
  /** What the program may reach; nothing is all that there is for now. */
  readonly outbound?: null
  /** As {@linkcode outbound}, by the name that Workers have for it. */
  readonly globalOutbound?: null
  readonly limits?: SandboxLimits
  /** Taken as Workers have them, and of no effect: the runtime is the one that is installed. */
  readonly compatibilityDate?: string
  readonly compatibilityFlags?: readonly string[]
}

/** A program that was looked at. */
export interface CheckedCode {
  readonly program: GuestProgram
  readonly env: Readonly<Record<string, unknown>>
  readonly limits: SandboxLimits
  /** Bytes of all modules. */
  readonly bytes: number
  /** One of them is TypeScript. */
  readonly typed: boolean
}

/** Modules of one program. */
const MAX_MODULES = 1000
/** Bytes of them. */
const MAX_CODE_BYTES = 64 << 20
const MAX_NAME = 512
const NAME = /^[\w@$~.+-][\w@$~.+/-]*$/

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
  'env',
  'outbound',
  'globalOutbound',
  'limits',
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
  const { mainModule, modules, env = {}, limits = {} } = code
  refuseReach(code)
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
  const bytes = entries.reduce((sum, [name, , content]) => sum + name.length + content.length, 0)
  if (bytes > MAX_CODE_BYTES) {
    throw new RangeError(`Cannot load a program: ${bytes} bytes of modules, want at most ${MAX_CODE_BYTES}`)
  }
  return {
    program: { main: mainModule, modules: entries },
    env: checkEnv(env),
    limits,
    bytes,
    typed: entries.some(([, kind]) => kind === 'ts'),
  }
}

/** The program of one text. */
export function checkText(text: string, language: 'js' | 'ts'): CheckedCode {
  if (language !== 'js' && language !== 'ts') {
    throw new TypeError(`Cannot run a program: language is ${Deno.inspect(language)}, want 'js' or 'ts'`)
  }
  const mainModule = `main.${language}`
  return checkCode({ mainModule, modules: { [mainModule]: text } })
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

/** Bindings and the network have their places, and nothing in them yet. */
function refuseReach(code: SandboxCode): void {
  for (const name of ['outbound', 'globalOutbound'] as const) {
    if (code[name] === undefined || code[name] === null) continue
    throw new TypeError(
      `Cannot load a program: ${name} is given, and programs have no network yet, want null or nothing`,
    )
  }
}

function checkEnv(env: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (typeof env !== 'object' || env === null) {
    throw new TypeError(`Cannot load a program: env is ${Deno.inspect(env)}, want an object`)
  }
  for (const [name, value] of Object.entries(env)) {
    const isBinding = typeof value === 'function' ||
      (typeof value === 'object' && value !== null &&
        Object.values(value).some((member) => typeof member === 'function'))
    if (isBinding) {
      throw new TypeError(
        `Cannot load a program: env.${name} has functions, and programs cannot call the host yet, want data`,
      )
    }
  }
  return env
}
