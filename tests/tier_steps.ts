/** The steps of the tiers: what each runs, and with which arguments. */
import { dirname, join } from '@std/path'
import { checkTools } from '../src/isolate/ffi/build/core_build.ts'
import { IsolationUnavailableError } from '../src/isolate/machines/errors.ts'
import type { Cargo } from '../src/isolate/ffi/build/toolchain.ts'
import { countCargoTests, countDenoTests, countH2spec, countRunner, ROOT, type Step } from './runner.ts'
import { GATE_FILES, MACHINE_FILES, type Tier, TIER_VARIABLE } from './tiers.ts'

/** Of the emulated AMD-V, after which no more tests start: its share takes some 250 s. */
const BUDGET_SECONDS = 420

/** Twice what the longest run of `deno test` takes: it ends by a failure where a test waits for ever. */
const DENO_TEST_MINUTES = 25

const PACKAGES = 'tests/packages'
/** So many that each ends long before {@link DENO_TEST_MINUTES} on a busy machine too. */
const PACKAGE_PARTS = 8

/** How a test asks for its tier: by `tiers.ts`, or the runtimes of the fixtures. */
const ASKS_TIER = /\b(?:isQuick|isRest|RUNTIMES|inEachRuntime|inEachSandbox|openInEach)\b/

/** What the rules of the layout are tested by: circles, upward imports, limits and arguments named twice. */
const TIDY_FILES = ['imports', 'rust_modules', 'native_tables'].map((name) => `tests/tidy/${name}_test.ts`)

/** Format, lint, types, and the rules of the layout. */
export function checkSteps(): Step[] {
  const deno = Deno.execPath()
  return [
    { name: 'format', command: deno, args: ['fmt', '--check'] },
    { name: 'lint', command: deno, args: ['lint'] },
    {
      name: 'types',
      command: deno,
      args: [
        'check',
        '--quiet',
        'mod.ts',
        'src',
        'benchmark',
        'routes',
        ...testFolders(),
        'native/hwtest',
        'native/guest-core/web',
      ],
    },
    denoTests('layout', TIDY_FILES),
  ]
}

/** The types of the npm packages' handlers, which have a configuration of their own; half a minute. */
export function checkPackages(): Step {
  return {
    name: 'types of the npm packages',
    command: Deno.execPath(),
    args: ['check', '--quiet', '--frozen', 'handlers'],
    cwd: `${ROOT}tests/packages`,
  }
}

/** What `tests` holds, without the handlers of npm packages. */
function testFolders(): string[] {
  return [...Deno.readDirSync(`${ROOT}tests`)].flatMap(({ name }) =>
    name === 'packages'
      ? [...Deno.readDirSync(`${ROOT}tests/packages`)].map((entry) => `tests/packages/${entry.name}`)
      : `tests/${name}`
  ).filter((path) => !path.startsWith('tests/packages/') || path.endsWith('.ts')).sort()
}

/** `deno test` with these arguments. */
export function denoTests(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Step {
  return {
    name,
    command: Deno.execPath(),
    args: ['test', '--allow-all', '--no-check', ...args],
    env,
    minutes: DENO_TEST_MINUTES,
    count: countDenoTests,
  }
}

/** The quick half of the TypeScript tests that run in no machine, and of those that do. */
export function quickTests(): { readonly plain: readonly Step[]; readonly machines: readonly Step[] } {
  const env = { [TIER_VARIABLE]: 'test' satisfies Tier }
  const files = [...quickFiles('tests')].filter((file) => !TIDY_FILES.includes(file))
  return {
    plain: batches('tests', files.filter((file) => !runsMachines(file)), PLAIN_BATCH, env),
    machines: batches('tests in machines', files.filter(runsMachines), BATCH, env),
  }
}

/** TypeScript tests of the gate. */
interface GateTests {
  /** They run in no machine. */
  readonly plain: Step
  /** They do. */
  readonly machines: readonly Step[]
  /** All npm packages in parts, which do too and take minutes; the first downloads for all. */
  readonly packages: readonly Step[]
}

/** All TypeScript tests. */
export function allTests(): GateTests {
  const env = { [TIER_VARIABLE]: 'gate' satisfies Tier }
  const ignored = `--ignore=${[...MACHINE_FILES, ...GATE_FILES, ...TIDY_FILES].join()}`
  const machines = [...MACHINE_FILES, ...GATE_FILES.filter((file) => !runsMachines(file))]
  return {
    plain: denoTests('tests', [ignored, 'tests'], env),
    machines: batches('tests in machines', machines.filter((file) => file !== PACKAGES), BATCH, env),
    packages: packageTests(),
  }
}

/** What {@link allTests} runs and {@link quickTests} does not: the gate's files, and the larger share of the others. */
export async function otherTests(): Promise<GateTests> {
  const larger = await findLargerFiles()
  const rest = { [TIER_VARIABLE]: 'rest' satisfies Tier }
  const gate = { [TIER_VARIABLE]: 'gate' satisfies Tier }
  return {
    plain: denoTests('tests', larger.filter((file) => !runsMachines(file)), rest),
    machines: [
      ...batches('tests in machines', GATE_FILES.filter((file) => file !== PACKAGES), BATCH, gate),
      ...batches('tests in machines, the larger share', larger.filter(runsMachines), BATCH, rest),
    ],
    packages: packageTests(),
  }
}

/** Files of tests in machines that one process runs: so few that lanes end together, so many that not all of it is starting up. */
const BATCH = 4
/** The same of tests in no machine, most of which are quick. */
const PLAIN_BATCH = 20

/** Those that take longest are a batch each, the first ones: a lane that began one last would end long behind the others. */
const LONG_FILES: readonly string[] = [
  'tests/isolated/stream_test.ts',
  'tests/isolated/body_stream_test.ts',
  'tests/sandbox/run_test.ts',
  'tests/site/browser_test.ts',
  'tests/isolated/reset_check_test.ts',
  'tests/isolated/limits_test.ts',
  'tests/tenants/neighbours_test.ts',
]

/** Tests in batches. `deno test` ignores nothing any more once one of its paths is a file: these are files, and whole folders. */
function batches(
  name: string,
  paths: readonly string[],
  size: number,
  env: Readonly<Record<string, string>>,
): Step[] {
  const sorted = [...paths].sort()
  const found = LONG_FILES.filter((file) => sorted.includes(file)).map((file) => [file])
  const others = sorted.filter((file) => !LONG_FILES.includes(file))
  for (let at = 0; at < others.length; at += size) found.push(others.slice(at, at + size))
  return found.map((files, at) => denoTests(`${name}, ${at + 1} of ${found.length}`, files, env))
}

function runsMachines(file: string): boolean {
  return MACHINE_FILES.some((folder) => file.startsWith(folder))
}

/** Parts of the npm packages. The first, which downloads them, runs the folder's other tests too. */
function packageTests(): Step[] {
  const parts = Array.from({ length: PACKAGE_PARTS }, (_, at) => `${at + 1}/${PACKAGE_PARTS}`)
  return parts.map((part, at) =>
    denoTests(`npm packages, ${part}`, [at === 0 ? PACKAGES : `${PACKAGES}/packages_test.ts`], {
      [TIER_VARIABLE]: 'gate' satisfies Tier,
      MAYFLY_PACKAGES: part,
    })
  )
}

/** Files of the quick tier whose tests ask there which tier it is. */
async function findLargerFiles(): Promise<string[]> {
  const found: string[] = []
  for (const file of quickFiles('tests')) {
    if (ASKS_TIER.test(await Deno.readTextFile(`${ROOT}${file}`))) found.push(file)
  }
  return found.sort()
}

/** Test files of the quick tier: a file itself, or what is below a folder. */
function* quickFiles(path: string): Generator<string> {
  if (GATE_FILES.some((file) => file === path)) return
  if (path.endsWith('.ts')) {
    if (path.endsWith('_test.ts')) yield path
    return
  }
  for (const { name, isDirectory } of Deno.readDirSync(`${ROOT}${path}`)) {
    if (isDirectory || name.endsWith('.ts')) yield* quickFiles(`${path}/${name}`)
  }
}

/**
 * The native tests of the main paths, in the crates as the library has them: what it was built of is not compiled again, and the tests
 * themselves are not optimised. Those that need /dev/kvm say so when they skip.
 */
export function quickNativeTests({ command, env }: Cargo): Step {
  const crates = ['wire', 'guard', 'linux', 'vmm', 'pool', 'ffi']
  const packages = crates.flatMap((crate) => ['--package', `mayfly-${crate}`])
  const wrapper = { RUSTC_WRAPPER: `${ROOT}native/unoptimised_tests` }
  return nativeTests(command, ['--release', ...packages, '--lib', '--test', 'pool'], { ...env, ...wrapper })
}

/** All native tests on this machine's KVM, of the build that the emulated machines run: optimised, with debug assertions. */
export function allNativeTests(cargo: Cargo): Step {
  return nativeTests(HARDWARE_CARGO, ['--workspace'], hardwareEnvironment(cargo))
}

/** h2spec against the front, by TLS, of the build of {@link allNativeTests}; skipped aloud without Go, which gets and builds it. */
export function http2Tests(): Step {
  return {
    name: 'HTTP/2 by h2spec',
    command: `${ROOT}native/front/h2spec.sh`,
    args: [],
    env: { MAYFLY: `${ROOT}native/target/hwtest/x86_64-unknown-linux-gnu/debug/mayfly-cli` },
    count: countH2spec,
  }
}

/** Servers of several runtimes behind `mayfly serve`, unmodified; those that are not installed are said. */
export function unmodifiedServers({ command, env }: Cargo): Step[] {
  const build = ['build', '--quiet', '--locked', '--release', '--package', 'mayfly-front']
  return [
    { name: 'mayfly serve', command, args: build, cwd: `${ROOT}native`, env },
    { name: 'unmodified servers', command: `${ROOT}native/front/servers.sh`, args: [] },
  ]
}

const HARDWARE_CARGO = `${ROOT}native/hwtest/cargo`

/** Of all that builds or runs the tests of emulated machines: with other variables cargo would build them again. */
function hardwareEnvironment({ command, env }: Cargo): Record<string, string> {
  return {
    ...env,
    ...clippyInBuild(command),
    CARGO: command,
    PATH: `${dirname(command)}:${Deno.env.get('PATH') ?? ''}`,
  }
}

function nativeTests(command: string, args: readonly string[], env: Cargo['env']): Step {
  return {
    name: 'native tests',
    command,
    args: ['test', '--locked', '--no-fail-fast', ...args],
    cwd: `${ROOT}native`,
    env,
    count: countCargoTests,
  }
}

/**
 * Format and lints of the Rust workspace. The lints build for {@link allNativeTests}, which is all but the library as users have it: that
 * cannot be static.
 */
export function nativeLints(cargo: Cargo): Step[] {
  const cwd = `${ROOT}native`
  const { command, env } = cargo
  return [
    { name: 'native format', command, args: ['fmt', '--all', '--check'], cwd, env },
    {
      name: 'native lint and build',
      command: HARDWARE_CARGO,
      args: ['test', '--quiet', '--locked', '--workspace', '--no-run'],
      cwd,
      env: hardwareEnvironment(cargo),
    },
    {
      name: 'native lint of the library',
      command,
      args: ['clippy', '--quiet', '--locked', '--package', 'mayfly-ffi', '--', '-D', 'warnings'],
      cwd,
      env,
    },
  ]
}

/** Each target for a while, two at a time. */
export function fuzzing(cargo: Cargo, seconds: number): Step {
  return { ...fuzzStep('fuzzing', cargo, ['--seconds', String(seconds)]), count: countRunner }
}

/** Builds what {@link fuzzing} runs, beside other tests. */
export function prepareFuzzing(cargo: Cargo): Step {
  return fuzzStep('what is fuzzed', cargo, ['--build'])
}

function fuzzStep(name: string, { command, env }: Cargo, args: readonly string[]): Step {
  return {
    name,
    command: `${ROOT}native/fuzz/run`,
    args,
    cwd: `${ROOT}native`,
    env: { ...env, CARGO: command },
  }
}

/**
 * Clippy as the compiler of a workspace in `cargo build`, warnings as errors: what it depends on is taken as it was built, where
 * `cargo clippy` checks two hundred crates again (14 s of CPU in place of 122).
 */
function clippyInBuild(cargo: string): Record<string, string> {
  return {
    RUSTC_WORKSPACE_WRAPPER: join(dirname(cargo), 'clippy-driver'),
    // As `cargo clippy` passes its arguments on.
    CLIPPY_ARGS: ['-D', 'warnings', ''].join('__CLIPPY_HACKERY__'),
  }
}

/**
 * The small guest, a workspace of its own. In the release profile alone: its C sources take minutes, and the tests of `deno test`
 * find them compiled.
 */
export async function guestSteps({ command, env }: Cargo): Promise<{ lints: Step[]; tests: Step[] }> {
  const cwd = `${ROOT}native/guest-core`
  const cargo = (name: string, ...args: string[]): Step => ({
    name: `small guest: ${name}`,
    command,
    args,
    cwd,
    env,
  })
  const format = cargo('format', 'fmt', '--check')
  try {
    await checkTools()
  } catch (error) {
    if (!(error instanceof IsolationUnavailableError)) throw error
    console.log(`SKIPPED: the small guest: ${error.message}`)
    return { lints: [format], tests: [] }
  }
  return {
    lints: [
      format,
      {
        ...cargo('lint', 'build', '--quiet', '--locked', '--release', '--all-targets'),
        env: { ...env, ...clippyInBuild(command) },
      },
    ],
    tests: [
      { ...cargo('tests', 'test', '--locked', '--release', '--no-fail-fast'), count: countCargoTests },
    ],
  }
}

/** Both machines with AMD-V: with nested paging, and at the same time without. */
const AMD_V = ['--npt=1', '--npt=0']

/**
 * The share of a gate of the native tests, and of the framework's over a socket, on the hardware KVM of emulated machines. Whether the
 * emulator can be had, it finds out itself.
 */
export function emulatedAmdV(cargo: Cargo): Step {
  return hardwareStep('emulated AMD-V', cargo, [...AMD_V, '--share', '--budget', String(BUDGET_SECONDS)])
}

/** Downloads and builds what {@link emulatedAmdV} runs, beside other tests. */
export function prepareAmdV(cargo: Cargo): Step {
  const { count: _count, ...step } = hardwareStep('what emulated AMD-V runs', cargo, [
    ...AMD_V,
    '--share',
    '--prepare',
  ])
  return step
}

/** All tests on both machines with AMD-V; the longest programs have time. */
export function emulatedAmdVWhole(cargo: Cargo): Step {
  return hardwareStep('emulated AMD-V, all of it', cargo, [...AMD_V, '--limit', '900'])
}

/** The same on VT-x, which is slow; `more` are arguments of `native/hwtest/run`. */
export function emulatedVtx(cargo: Cargo, more: readonly string[]): Step {
  return hardwareStep('emulated VT-x', cargo, ['--bochs', ...more])
}

function hardwareStep(name: string, cargo: Cargo, args: readonly string[]): Step {
  return {
    name,
    command: `${ROOT}native/hwtest/run`,
    args: ['--deno', Deno.execPath(), ...args],
    env: hardwareEnvironment(cargo),
    count: countRunner,
  }
}

/** The night's share of the generated calls over core's Web surface, others each time. */
export function generatedCalls(): Step {
  return denoTests('generated calls', ['tests/guest_core/differential_test.ts'], {
    [TIER_VARIABLE]: 'nightly' satisfies Tier,
  })
}

/** The long run of isolated requests, some of them hostile. */
export function soak(): Step {
  return {
    name: 'soak',
    command: Deno.execPath(),
    args: ['run', '-A', '--no-prompt', 'benchmark/soak.ts'],
  }
}

/** A million requests for each unmodified server behind `mayfly serve`, in both ways. */
export function serveSoak(): Step {
  return {
    name: 'soak of unmodified servers',
    command: Deno.execPath(),
    args: ['run', '-A', '--no-prompt', 'benchmark/serve/soak.ts'],
  }
}
