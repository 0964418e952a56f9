/** The steps of the tiers: what each runs, and with which arguments. */
import { dirname } from '@std/path'
import { checkTools } from '../src/isolate/ffi/build/core_build.ts'
import { IsolationUnavailableError } from '../src/isolate/machines/errors.ts'
import type { Cargo } from '../src/isolate/ffi/build/toolchain.ts'
import { countCargoTests, countDenoTests, countRunner, ROOT, type Step } from './runner.ts'
import { GATE_FILES, MACHINE_FILES, type Tier, TIER_VARIABLE } from './tiers.ts'

/** Of the emulated AMD-V, after which no more tests start: with builds and the last test the step ends within ten minutes. */
const BUDGET_SECONDS = 420

/** Format, lint and types. */
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
    count: countDenoTests,
  }
}

/** The quick half of the TypeScript tests that run in no machine, and of those that do. */
export function quickTests(): { readonly plain: Step; readonly machines: Step } {
  const env = { [TIER_VARIABLE]: 'test' satisfies Tier }
  const without = (files: readonly string[]) => `--ignore=${files.join()}`
  return {
    plain: denoTests('tests', [without([...GATE_FILES, ...MACHINE_FILES]), 'tests'], env),
    machines: denoTests('tests in machines', [without(GATE_FILES), ...MACHINE_FILES], env),
  }
}

/** All TypeScript tests: those that run in no machine, those that do, and all npm packages, which do too and take minutes. */
export function allTests(): Readonly<Record<'plain' | 'machines' | 'packages', Step>> {
  const env = { [TIER_VARIABLE]: 'gate' satisfies Tier, MAYFLY_PACKAGES: 'all' }
  const machines = [
    ...MACHINE_FILES,
    ...GATE_FILES.filter((file) => !MACHINE_FILES.some((other) => file.startsWith(other))),
  ]
  const packages = 'tests/packages'
  return {
    plain: denoTests('tests', [`--ignore=${machines.join()}`, 'tests'], env),
    machines: denoTests('tests in machines', machines.filter((file) => file !== packages), env),
    packages: denoTests('npm packages', [packages], env),
  }
}

/** The Rust workspace's tests. Those that need /dev/kvm say so when they skip. */
export function nativeTests({ command, env }: Cargo, ...only: string[]): Step {
  return {
    name: 'native tests',
    command,
    args: ['test', '--locked', '--release', '--no-fail-fast', ...only],
    cwd: `${ROOT}native`,
    env,
    count: countCargoTests,
  }
}

/** The crates and test programs of the main paths. */
export const QUICK_NATIVE = [
  ...['wire', 'guard', 'linux', 'vmm', 'pool', 'ffi'].flatMap((crate) => ['--package', `mayfly-${crate}`]),
  ...['--lib', '--test', 'pool'],
]

/** Format and lints of the Rust workspace. */
export function nativeLints({ command, env }: Cargo): Step[] {
  const cwd = `${ROOT}native`
  return [
    { name: 'native format', command, args: ['fmt', '--all', '--check'], cwd, env },
    {
      name: 'native lint',
      command,
      args: ['clippy', '--quiet', '--locked', '--all-targets', '--', '-D', 'warnings'],
      cwd,
      env,
    },
  ]
}

/** Each target for a while, two at a time. */
export function fuzzing({ command, env }: Cargo, seconds: number): Step {
  return {
    name: 'fuzzing',
    command: `${ROOT}native/fuzz/run`,
    args: ['--seconds', String(seconds)],
    cwd: `${ROOT}native`,
    env: { ...env, CARGO: command },
    count: countRunner,
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
      cargo(
        'lint',
        ...['clippy', '--quiet', '--locked', '--release', '--all-targets', '--', '-D', 'warnings'],
      ),
    ],
    tests: [
      { ...cargo('tests', 'test', '--locked', '--release', '--no-fail-fast'), count: countCargoTests },
    ],
  }
}

/**
 * The native tests, and the framework's over a socket, on the hardware KVM of an emulated machine: with nested paging, and at
 * the same time without. Whether the emulator can be had, it finds out itself.
 */
export function emulatedAmdV(cargo: Cargo): Step {
  return hardwareStep('emulated AMD-V', cargo, [
    '--npt=1',
    '--npt=0',
    '--budget',
    String(BUDGET_SECONDS),
    '--deno',
    Deno.execPath(),
  ])
}

/** The same on VT-x, which is slow; `more` are arguments of `native/hwtest/run`. */
export function emulatedVtx(cargo: Cargo, more: readonly string[]): Step {
  return hardwareStep('emulated VT-x', cargo, ['--bochs', '--deno', Deno.execPath(), ...more])
}

function hardwareStep(name: string, { command, env }: Cargo, args: readonly string[]): Step {
  return {
    name,
    command: `${ROOT}native/hwtest/run`,
    args,
    env: { ...env, PATH: `${dirname(command)}:${Deno.env.get('PATH') ?? ''}` },
    count: countRunner,
  }
}

/** The long run of isolated requests, some of them hostile. */
export function soak(): Step {
  return {
    name: 'soak',
    command: Deno.execPath(),
    args: ['run', '-A', '--no-prompt', 'benchmark/soak.ts'],
  }
}
