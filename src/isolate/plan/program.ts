/** Programs: what a virtual machine boots. Each isolated file is one by itself, or all files of a group are. */
import { hexDigest } from '../../context/hex_digest.ts'
import { pooledMap } from '@std/async'
import { dirname } from '@std/path'
import { NO_READINGS, type Readings } from '../../compiler/readings.ts'
import { readExecutable } from './executable.ts'
import {
  type Bundle,
  type BundleHandler,
  bundleProgram,
  bundleRuntime,
  RUNTIME_FILE,
} from '../bundle/bundle.ts'
import type { BundleCache } from '../bundle/bundle_cache.ts'
import type { ReachNames } from '../../reach/calls/protocol.ts'
import { SURFACE_PATH } from '../core/core_surface.ts'
import { readIsolated } from './literal.ts'
import { DENO_ARGUMENTS, DENO_ENVIRONMENT, V8_FLAGS } from './native_tables.ts'
import {
  findDifference,
  type IsolateDefaults,
  type IsolateRuntime,
  type ResolvedIsolateOptions,
  resolveIsolateOptions,
} from './options.ts'
import { findHints, type RequestHints } from '../hints/request_hints.ts'
import { createStackMapper, type StackMapper } from './stack.ts'
import {
  planProbes,
  planWarmup,
  type Probe,
  type Warmup,
  type WarmupChoice,
  type WarmupTarget,
} from '../warm/warmup.ts'
import { readWarmupFile } from '../warm/warmup_file.ts'

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

/** Those of a program with handlers. */
export type HandlerOptions = ProgramOptions & { readonly runtime: IsolateRuntime }

/** A program, ready to be booted. Equal hashes: equal programs, there is nothing to swap. */
export interface Program {
  /** Hex digits of SHA-256 over all that the guest sees: code, arguments, environment. */
  readonly hash: string
  /** The first twelve digits of the hash, for events and logs. */
  readonly id: string
  readonly options: ProgramOptions
  readonly handlers: readonly ProgramHandler[]
  /** Its route files, as shown to people, in the order of the bundle. */
  readonly files: readonly string[]
  /** Belongs in a file that is called {@link PROGRAM_FILE}. */
  readonly bundle: Bundle
  /** What the bundle imports from beside it, as {@link RUNTIME_FILE}: the same for all programs. */
  readonly runtime: Bundle
  /** Its bundle was kept from an earlier start: it may be another if it is made anew. */
  readonly kept?: boolean | undefined
  /** Path on the host of the program that runs in place of a runtime; its bytes are the bundle's. */
  readonly executable?: string | undefined
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
export interface PlanOptions extends Surroundings {
  readonly defaults?: IsolateDefaults
}

/** Where programs come from, beside their files. */
export interface Surroundings {
  /** Folder of the routes, whose project's files programs may contain; that of the first file if left out. */
  readonly routesDir?: string | undefined
  /** Reads a variable of the host; only names that a route lists are asked for. */
  readonly readEnv?: (name: string) => string | undefined
  /** What the router gives handlers to ask of the host. */
  readonly reach?: ReachNames | undefined
  /** Bundles that are kept; `fresh`: programs are bundled in any case, and kept. */
  readonly bundles?: { readonly cache: BundleCache; readonly fresh: boolean } | undefined
}

/** Name of a bundle's file; stacks are mapped by it. */
export const PROGRAM_FILE = 'program.js'
/** Where a bundle lies in a guest. */
export const GUEST_PATH = `/${PROGRAM_FILE}`

/** A file of a program to be. */
export interface Member {
  readonly route: IsolatedRoute
  readonly options: ResolvedIsolateOptions & { readonly warmup: WarmupChoice }
  readonly hints: RequestHints
}

/** Files that are to be one program: what can be said without bundling them. Never empty. */
export type Group = readonly Member[]

/** The groups of a site, and the routes that are in none. */
export interface Groups {
  readonly groups: readonly Group[]
  readonly failures: readonly RouteFailure[]
}

/** What {@link planProgram} made of a group; null where none of its files can be bundled. */
export interface PlannedGroup {
  readonly program: Program | null
  readonly failures: readonly RouteFailure[]
}

/** Files that are read at a time. */
const READS = 16

/**
 * Reads the options of the routes and groups them. A route that fails is left out with its error and the others are served. Nothing of a
 * route runs here.
 */
export async function planGroups(
  routes: readonly IsolatedRoute[],
  defaults: IsolateDefaults = {},
  readings: Readings = NO_READINGS,
): Promise<Groups> {
  const failures: RouteFailure[] = []
  const groups = new Map<string, Member[]>()
  const sorted = routes.toSorted((a, b) => a.file < b.file ? -1 : 1)
  for await (const read of pooledMap(READS, sorted, (route) => readMember(route, defaults, readings))) {
    if ('error' in read) {
      failures.push(read)
      continue
    }
    const { route, options } = read
    const key = options.group === null ? `file ${route.file}` : `group ${options.group}`
    const members = groups.get(key) ?? []
    const difference = members.length === 0 ? null : findDifference(members[0]!.options, options)
    if (difference === null) groups.set(key, [...members, read])
    else failures.push({ route, error: unequal(members[0]!, read, difference) })
  }
  return { groups: [...groups.values()], failures }
}

async function readMember(
  route: IsolatedRoute,
  defaults: IsolateDefaults,
  readings: Readings,
): Promise<Member | RouteFailure> {
  try {
    const source = await Deno.readTextFile(route.path)
    const read = () => readIsolated(route.file, route.path, source)
    const value = await readings.of('isolated', route.path, source, read)
    const given = resolveIsolateOptions(route.file, value, defaults)
    const options = { ...given, warmup: await readWarmup(route, given) }
    planWarmup(route.file, route.pattern, toTargets(route, 0), options.warmup)
    return { route, options, hints: findHints(source, route.path.endsWith('x')) }
  } catch (error) {
    return { route, error: error as Error }
  }
}

function unequal(first: Member, second: Member, name: keyof ResolvedIsolateOptions): TypeError {
  const [one, two] = [first, second].map(({ options }) => Deno.inspect(options[name]))
  return new TypeError(
    `Cannot put ${second.route.file} into the group '${second.options.group}' of ${first.route.file}: isolated.${name} is ${two}, ` +
      `and ${one} there, want equal options in all files of a group`,
  )
}

/** The programs of all routes at once: {@link planGroups}, and {@link planProgram} of each. */
export async function planPrograms(
  routes: readonly IsolatedRoute[],
  { defaults = {}, ...surroundings }: PlanOptions = {},
): Promise<ProgramPlan> {
  const { groups, failures: unread } = await planGroups(routes, defaults)
  const failures = [...unread]
  const programs: Program[] = []
  for (const group of groups) {
    const planned = await planProgram(group, surroundings)
    failures.push(...planned.failures)
    if (planned.program !== null) programs.push(planned.program)
  }
  return { programs, failures }
}

/** A handler by its index, for people: `GET users.ts`. */
export function nameHandler({ handlers }: Program, index: number): string {
  const { route, method } = handlers[index]!
  return method === null ? route.file : `${method} ${route.file}`
}

/** Bundles a group; without the files that cannot be bundled, each tried by itself to find them. */
export async function planProgram(
  group: Group,
  surroundings: Surroundings = {},
): Promise<PlannedGroup> {
  try {
    return { program: await toProgram(group, surroundings), failures: [] }
  } catch (error) {
    if (group.length === 1) {
      return { program: null, failures: [{ route: group[0]!.route, error: error as Error }] }
    }
  }
  const planned = []
  for (const member of group) planned.push({ member, ...await planProgram([member], surroundings) })
  const sound = planned.flatMap(({ member, program }) => program === null ? [] : [member])
  return {
    program: sound.length === 0 ? null : await toProgram(sound, surroundings),
    failures: planned.flatMap(({ failures }) => failures),
  }
}

async function toProgram(
  members: readonly Member[],
  { routesDir = dirname(members[0]!.route.path), readEnv = (name) => Deno.env.get(name), reach, bundles }:
    Surroundings,
): Promise<Program> {
  const { warmup: _, ...options } = members[0]!.options
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
  const env = guestEnvironment(options, readEnv)
  const { bundle, runtime, args, executable, kept } = options.runtime === 'native'
    ? await toNative(members[0]!, routesDir, reach)
    : await toBundled(members, listed, options.runtime, { routesDir, reach, bundles })
  const hash = await hexDigest(
    bundle.code,
    JSON.stringify([args, env, members.map((member) => member.options), bundle.data ?? []]),
  )
  const stacks = createStackMapper({ [PROGRAM_FILE]: bundle.map, [RUNTIME_FILE]: runtime.map })
  return {
    executable,
    kept,
    hash,
    id: hash.slice(0, 12),
    options,
    handlers,
    files: members.map(({ route }) => route.file),
    bundle,
    runtime,
    args,
    env,
    warmup,
    probes,
    stacks,
  }
}

/** What a machine starts with. */
type Parts = Pick<Program, 'bundle' | 'runtime' | 'args' | 'executable' | 'kept'>

async function toBundled(
  members: readonly Member[],
  handlers: readonly BundleHandler[],
  kind: IsolateRuntime,
  { routesDir, reach, bundles }: Surroundings & { readonly routesDir: string },
): Promise<Parts> {
  const { route, options } = members[0]!
  const input = {
    root: routesDir,
    files: members.map(({ route }) => route.path),
    handlers,
    outputBytes: options.outputBytes,
    logBytes: options.limits.logBytes,
    runtime: kind,
    reach: toReach(route.file, options, reach),
  }
  const make = () => bundleProgram(input)
  const { bundle, kept } = bundles === undefined
    ? { bundle: await make(), kept: false }
    : await bundles.cache.take(input, routesDir, make, bundles.fresh)
  const args = guestArguments(options, GUEST_PATH, EAGER_FLAGS)
  return { bundle, runtime: await bundleRuntime(kind, bundles?.cache), args, executable: undefined, kept }
}

/** A program that brings its own runtime: nothing is bundled. */
async function toNative(
  { route, options }: Member,
  root: string,
  reach: ReachNames | undefined,
): Promise<Parts> {
  // It is told no names: it has those that it was compiled with.
  toReach(route.file, options, reach)
  const { path, code } = await readExecutable(route, options.program!, root)
  const bundle = { code, map: '', inputs: [path, route.path], missing: [] }
  const runtime = { code: new Uint8Array(0), map: '', inputs: [], missing: [] }
  return { bundle, runtime, args: [], executable: path, kept: false }
}

/** What handlers may ask of the host: of what the router gives that which their file names. */
function toReach(
  file: string,
  { bindings, outbound }: ProgramOptions,
  given: ReachNames = { bindings: [], fetches: false },
): ReachNames | undefined {
  if (bindings.length === 0 && !outbound) return undefined
  const known = new Map(given.bindings.map((binding) => [binding[0], binding]))
  const missing = bindings.find((name) => !known.has(name))
  if (missing !== undefined) {
    throw new TypeError(
      `Cannot isolate ${file}: isolated.bindings has '${missing}', want a name of the router's isolate.bindings: ${
        [...known.keys()].join(', ') || 'it has none'
      }`,
    )
  }
  if (outbound && !given.fetches) {
    throw new TypeError(
      `Cannot isolate ${file}: isolated.outbound is true, want the router's isolate.outbound to say which hosts`,
    )
  }
  return {
    bindings: bindings.map((name) => known.get(name)!),
    fetches: outbound,
    samples: given.samples?.filter(([name]) => bindings.includes(name)),
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
 * V8 compiles all functions of a program when it loads, and keeps what it compiled: what no warm-up request called, every request would
 * parse and compile again.
 */
const EAGER_FLAGS: readonly string[] = ['--no-lazy', '--no-flush-bytecode']

/**
 * Arguments for deno: no permission but the named variables and `NODE_ENV`, nothing fetched, nothing read beside the bundle. `flags`: more
 * of V8's. The core runtime has no way to any of it, and a native program is told nothing.
 */
export function guestArguments(
  { env, runtime, memoryMb }: ProgramOptions,
  bundlePath: string,
  flags: readonly string[] = [],
): string[] {
  if (runtime === 'native') return []
  if (runtime === 'core') return [SURFACE_PATH, bundlePath]
  return [
    ...DENO_ARGUMENTS,
    // V8 collects all of its heap when that is as large as the memory of a request: a warm-up whose garbage is less never does, and
    // no request does so again and again because its snapshot was near a smaller limit. Such a collection also drops optimised code.
    `--v8-flags=${[...V8_FLAGS, ...flags, `--initial-old-space-size=${memoryMb}`].join()}`,
    `--allow-env=${[...new Set([...env, ...Object.keys(GIVEN_ENVIRONMENT)])].sort().join(',')}`,
    // Everything else is as if it were not there: packages look for variables and files, and do without.
    '--ignore-env',
    '--ignore-read',
    bundlePath,
  ]
}

/** What every guest may read, unless `env` names the host's own. Packages leave out their checks for development. */
const GIVEN_ENVIRONMENT = { NODE_ENV: 'production' }

/** The guest's whole environment. A variable that the host does not have is not there either. */
export function guestEnvironment(
  { env, runtime }: ProgramOptions,
  readEnv: (name: string) => string | undefined,
): Record<string, string> {
  const given = env.map((name) => [name, readEnv(name)] as const).filter(([, value]) => value !== undefined)
  return {
    ...(runtime === 'deno' ? { ...toRecord(DENO_ENVIRONMENT), ...GIVEN_ENVIRONMENT } : {}),
    ...Object.fromEntries(given) as Record<string, string>,
  }
}

/** `NAME=value` as members of an object. */
function toRecord(variables: readonly string[]): Record<string, string> {
  return Object.fromEntries(variables.map((variable) => variable.split('=', 2) as [string, string]))
}
