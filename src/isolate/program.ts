/** Programs: what a virtual machine boots. Isolated routes of equal options share one. */
import { dirname } from '@std/path'
import { type Bundle, type BundleHandler, bundleProgram, bundleRuntime, RUNTIME_FILE } from './bundle.ts'
import { ProgramError } from './compiler.ts'
import { SURFACE_PATH } from './core_surface.ts'
import { readIsolated } from './literal.ts'
import {
  type IsolateDefaults,
  optionsKey,
  type ResolvedIsolateOptions,
  resolveIsolateOptions,
} from './options.ts'
import { findHints, type RequestHints } from './request_hints.ts'
import { createStackMapper, type StackMapper } from './stack.ts'
import {
  planProbes,
  planWarmup,
  type Probe,
  type Warmup,
  type WarmupChoice,
  type WarmupTarget,
} from './warmup.ts'
import { readWarmupFile } from './warmup_file.ts'

/** An isolated route, as the router's table lists it. */
export interface IsolatedRoute {
  /** As shown to people. */
  readonly file: string
  /** Absolute path. */
  readonly path: string
  readonly pattern: string
  /** Exported methods. */
  readonly methods: readonly string[]
  /** The file has a default export, whose `fetch` takes all methods at and below the pattern. */
  readonly mount: boolean
}

/** One handler of a program; its place in {@link Program.handlers} is its number on the wire. */
export interface ProgramHandler {
  readonly route: IsolatedRoute
  /** A method, or null for an app that takes all of them. */
  readonly method: string | null
}

/** The options that the routes of a program share. */
export type ProgramOptions = Omit<ResolvedIsolateOptions, 'warmup'>

/** A program, ready to be booted. Equal hashes: equal programs, there is nothing to swap. */
export interface Program {
  /** Hex digits of SHA-256 over all that the guest sees: code, arguments, environment. */
  readonly hash: string
  /** The first twelve digits of the hash, for events and logs. */
  readonly id: string
  readonly options: ProgramOptions
  readonly handlers: readonly ProgramHandler[]
  /** Belongs in a file that is called {@link PROGRAM_FILE}. */
  readonly bundle: Bundle
  /** What the bundle imports from beside it, as {@link RUNTIME_FILE}: the same for all programs. */
  readonly runtime: Bundle
  /** Arguments of the runtime behind its own name; the last is the path of the bundle in the guest. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly warmup: readonly Warmup[]
  /** Requests as no warm-up has them, for who looks for what it left. */
  readonly probes: readonly Probe[]
  readonly stacks: StackMapper
}

/** A route that is in no program, and why. */
export interface RouteFailure {
  readonly route: IsolatedRoute
  readonly error: Error
}

/** All programs of a site. */
export interface ProgramPlan {
  readonly programs: readonly Program[]
  readonly failures: readonly RouteFailure[]
}

/** What {@link planPrograms} needs beside the routes. */
export interface PlanOptions {
  readonly defaults?: IsolateDefaults
  /** Folder of the routes, whose project's files programs may contain; that of the first route if left out. */
  readonly routesDir?: string
  /** Reads a variable of the host; only names that a route lists are asked for. */
  readonly readEnv?: (name: string) => string | undefined
}

/** Name of a bundle's file; stacks are mapped by it. */
export const PROGRAM_FILE = 'program.js'
/** Where a bundle lies in a guest. */
export const GUEST_PATH = `/${PROGRAM_FILE}`
/** A folder that exists in no guest, so that Deno keeps no caches. */
const NO_FOLDER = '/nonexistent'

interface Member {
  readonly route: IsolatedRoute
  readonly options: ResolvedIsolateOptions & { readonly warmup: WarmupChoice }
  readonly hints: RequestHints
}

/**
 * Reads the options of the routes, groups them and bundles each group. A route that fails is left out with its error and
 * the others are served. Nothing of a route runs here.
 */
export async function planPrograms(
  routes: readonly IsolatedRoute[],
  { defaults = {}, readEnv = (name) => Deno.env.get(name), routesDir }: PlanOptions = {},
): Promise<ProgramPlan> {
  const failures: RouteFailure[] = []
  const groups = new Map<string, Member[]>()
  for (const route of routes.toSorted((a, b) => a.file < b.file ? -1 : 1)) {
    try {
      const source = await Deno.readTextFile(route.path)
      const value = await readIsolated(route.file, route.path, source)
      const given = resolveIsolateOptions(route.file, value, defaults)
      const options = { ...given, warmup: await readWarmup(route, given) }
      planWarmup(route.file, route.pattern, toTargets(route, 0), options.warmup)
      const key = optionsKey(options)
      groups.set(key, [...groups.get(key) ?? [], { route, options, hints: findHints(source) }])
    } catch (error) {
      failures.push({ route, error: error as Error })
    }
  }
  const programs: Program[] = []
  for (const members of groups.values()) {
    const root = routesDir ?? dirname(members[0].route.path)
    const program = await planGroup(members, { readEnv, root }, failures)
    if (program !== null) programs.push(program)
  }
  return { programs, failures }
}

/** A handler by its index, for people: `GET users.ts`. */
export function nameHandler({ handlers }: Program, index: number): string {
  const { route, method } = handlers[index]
  return method === null ? route.file : `${method} ${route.file}`
}

/** Whether a program consists of one of these files. */
export function dependsOn({ bundle }: Program, changed: ReadonlySet<string>): boolean {
  return bundle.inputs.some((path) => changed.has(path))
}

/** What the programs of a plan have in common. */
interface Surroundings {
  readonly readEnv: (name: string) => string | undefined
  /** Folder of the routes. */
  readonly root: string
}

/** The program of a group; without the routes that cannot be bundled, each tried by itself to find them. */
async function planGroup(
  members: readonly Member[],
  surroundings: Surroundings,
  failures: RouteFailure[],
): Promise<Program | null> {
  try {
    return await toProgram(members, surroundings)
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    if (members.length === 1) {
      failures.push({ route: members[0].route, error })
      return null
    }
  }
  const sound: Member[] = []
  for (const member of members) {
    if (await planGroup([member], surroundings, failures) !== null) sound.push(member)
  }
  return sound.length === 0 ? null : await toProgram(sound, surroundings)
}

async function toProgram(
  members: readonly Member[],
  surroundings: Surroundings,
): Promise<Program> {
  const { warmup: _, ...options } = members[0].options
  const handlers: ProgramHandler[] = []
  const listed: BundleHandler[] = []
  const warmup: Warmup[] = []
  const probes: Probe[] = []
  for (const [file, { route, options, hints }] of members.entries()) {
    const targets = toTargets(route, handlers.length)
    for (const { method } of targets) {
      handlers.push({ route, method })
      listed.push({
        name: method === null ? route.file : `${route.file} ${method}`,
        file,
        export: method ?? 'default',
      })
    }
    warmup.push(...planWarmup(route.file, route.pattern, targets, options.warmup, hints))
    probes.push(...planProbes(route.file, route.pattern, targets, options.warmup, hints))
  }
  const bundle = await bundleProgram({
    root: surroundings.root,
    files: members.map(({ route }) => route.path),
    handlers: listed,
    outputBytes: options.outputBytes,
    logBytes: options.limits.logBytes,
    runtime: options.runtime,
    memoryBytes: options.memoryMb * (1 << 20),
  })
  const runtime = await bundleRuntime(options.runtime)
  const args = guestArguments(options, GUEST_PATH)
  const env = guestEnvironment(options, surroundings.readEnv)
  const hash = await digest(bundle.code, JSON.stringify([args, env, members.map((member) => member.options)]))
  const stacks = createStackMapper({ [PROGRAM_FILE]: bundle.map, [RUNTIME_FILE]: runtime.map })
  return {
    hash,
    id: hash.slice(0, 12),
    options,
    handlers,
    bundle,
    runtime,
    args,
    env,
    warmup,
    probes,
    stacks,
  }
}

/** What a route's warm-up asks; the requests of its file in place of the file's name. */
async function readWarmup(
  { file, path }: IsolatedRoute,
  { warmup }: ResolvedIsolateOptions,
): Promise<WarmupChoice> {
  return typeof warmup === 'string' ? await readWarmupFile({ file, path, name: warmup }) : warmup
}

/** The handlers of a route, numbered from `first`. */
function toTargets({ methods, mount }: IsolatedRoute, first: number): WarmupTarget[] {
  const all = mount ? [...methods, null] : methods
  return all.map((method, index) => ({ handler: first + index, method }))
}

/**
 * One thread, and no inlining in V8's middle tier: a hot loop that Maglev has inlined into a function that runs once a request
 * never reaches TurboFan (seen: 450 us instead of 120). Code of lower tiers counts how often it runs, in a cell of each function,
 * and so writes to one page after another: a warm-up of 1000 requests, which a handler's routes share, takes all of it to TurboFan
 * (wanted are 400 and 3000 runs else, seen with a hello: 36 pages in place of 27).
 */
const V8_FLAGS = `--v8-flags=${
  [
    '--single-threaded',
    '--no-maglev-inlining',
    '--invocation-count-for-maglev=100',
    '--invocation-count-for-turbofan=200',
  ].join()
}`

/**
 * Arguments for deno: no permission but the named variables and `NODE_ENV`, nothing fetched, nothing read beside the bundle. The core
 * runtime has no way to any of it.
 */
export function guestArguments({ env, runtime }: ProgramOptions, bundlePath: string): string[] {
  if (runtime === 'core') return [SURFACE_PATH, bundlePath]
  return [
    'run',
    '--no-prompt',
    '--cached-only',
    '--no-lock',
    '--no-config',
    '--no-npm',
    '--no-remote',
    '--no-check',
    V8_FLAGS,
    `--allow-env=${[...new Set([...env, ...Object.keys(GIVEN_ENVIRONMENT)])].sort().join(',')}`,
    // Everything else is as if it were not there: packages look for variables and files, and do without.
    '--ignore-env',
    '--ignore-read',
    bundlePath,
  ]
}

/** What keeps Deno from looking for folders and servers. */
const DENO_ENVIRONMENT = {
  HOME: NO_FOLDER,
  DENO_DIR: NO_FOLDER,
  DENO_NO_UPDATE_CHECK: '1',
  NO_COLOR: '1',
}

/** What every guest may read, unless `env` names the host's own. Packages leave out their checks for development. */
const GIVEN_ENVIRONMENT = { NODE_ENV: 'production' }

/** The guest's whole environment. A variable that the host does not have is not there either. */
function guestEnvironment(
  { env, runtime }: ProgramOptions,
  readEnv: (name: string) => string | undefined,
): Record<string, string> {
  const given = env.map((name) => [name, readEnv(name)] as const).filter(([, value]) => value !== undefined)
  return {
    ...(runtime === 'deno' ? { ...DENO_ENVIRONMENT, ...GIVEN_ENVIRONMENT } : {}),
    ...Object.fromEntries(given) as Record<string, string>,
  }
}

async function digest(code: Uint8Array, rest: string): Promise<string> {
  const text = new TextEncoder().encode(rest)
  const bytes = new Uint8Array(code.length + text.length)
  bytes.set(code)
  bytes.set(text, code.length)
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()
}
