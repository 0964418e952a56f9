/**
 * `deno task test`: every check that the project has, in one run. `--check` stops before the tests; `--vtx` (`deno task
 * test-vtx`) runs nothing but the native tests on emulated VT-x, which are too slow for every run, and gives
 * `native/hwtest/run` the other arguments (`--only vmm`). What follows `--` goes to `deno test` (a file, `--filter name`).
 *
 * It ends with a line `N passed, N failed` and exits with 1 when anything failed.
 */
import { bold, green, red, yellow } from '@std/fmt/colors'
import { dirname, fromFileUrl } from '@std/path'
import { type Cargo, findCargo, ToolchainError } from '../src/isolate/ffi/toolchain.ts'
import { checkTools } from '../src/isolate/ffi/core_build.ts'
import { IsolationUnavailableError } from '../src/isolate/ffi/errors.ts'
import { installChromium, installGuestTools } from './install.ts'

const ROOT = fromFileUrl(new URL('..', import.meta.url))
/** Of the emulated AMD-V, after which no more tests start: with builds and the last test the step ends within ten minutes. */
const BUDGET_SECONDS = 420

interface Step {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Reads the numbers of tests from the step's output; without it the step counts as one. */
  readonly count?: (output: string) => Count | undefined
}

interface Count {
  passed: number
  failed: number
  skipped: number
}

async function main(args: readonly string[]): Promise<number> {
  const split = args.indexOf('--')
  const flags = split === -1 ? args : args.slice(0, split)
  const forTests = split === -1 ? [] : args.slice(split + 1)
  const onlyCheck = flags.includes('--check')
  const onlyVtx = flags.includes('--vtx')
  const all = !onlyCheck && forTests.length === 0
  const cargo = all ? await findCargo().catch(skipNative) : undefined
  if (!onlyCheck && !onlyVtx) {
    await installChromium()
    await installGuestTools()
  }
  const steps = onlyVtx
    ? cargo === undefined ? [] : [emulatedVtx(cargo, flags.filter((flag) => flag !== '--vtx'))]
    : [
      ...checkSteps(),
      ...(cargo === undefined ? [] : await guestSteps(cargo)),
      ...(onlyCheck ? [] : testSteps(forTests)),
      ...(cargo === undefined ? [] : [...nativeSteps(cargo), emulatedAmdV(cargo)]),
    ]
  const total: Count = { passed: 0, failed: 0, skipped: 0 }
  const broken: string[] = []
  for (const step of steps) {
    const count = await runStep(step)
    total.passed += count.passed
    total.failed += count.failed
    total.skipped += count.skipped
    if (count.failed > 0) broken.push(step.name)
  }
  if (broken.length > 0) console.log(red(`\nfailed: ${broken.join(', ')}`))
  const skipped = total.skipped === 0 ? '' : `, ${total.skipped} skipped`
  console.log(`\n${total.passed} passed, ${total.failed} failed${skipped}`)
  return total.failed === 0 ? 0 : 1
}

function checkSteps(): Step[] {
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
    // They have a configuration of their own, which knows their packages.
    {
      name: 'types of the npm packages',
      command: deno,
      args: ['check', '--quiet', '--frozen', 'handlers'],
      cwd: `${ROOT}tests/packages`,
    },
  ]
}

/** What `tests` holds, without the handlers of npm packages. */
function testFolders(): string[] {
  return [...Deno.readDirSync(`${ROOT}tests`)].flatMap(({ name }) =>
    name === 'packages'
      ? [...Deno.readDirSync(`${ROOT}tests/packages`)].map((entry) => `tests/packages/${entry.name}`)
      : `tests/${name}`
  ).filter((path) => !path.startsWith('tests/packages/') || path.endsWith('.ts')).sort()
}

function testSteps(args: readonly string[]): Step[] {
  return [{
    name: 'tests',
    command: Deno.execPath(),
    args: ['test', '--allow-all', '--no-check', ...(args.length > 0 ? args : ['tests'])],
    count: countDenoTests,
  }]
}

/** The Rust workspace: format, lints and tests. Those that need /dev/kvm say so when they skip. */
function nativeSteps({ command, env }: Cargo): Step[] {
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
    {
      name: 'native tests',
      command,
      args: ['test', '--locked', '--release', '--no-fail-fast'],
      cwd,
      env,
      count: countCargoTests,
    },
    // Five targets for a minute each, two at a time.
    {
      name: 'fuzzing',
      command: `${ROOT}native/fuzz/run`,
      args: ['--seconds', '60'],
      cwd,
      env: { ...env, CARGO: command },
      count: countRunner,
    },
  ]
}

/**
 * The small guest, a workspace of its own. In the release profile alone: its C sources take minutes, and the tests of `deno test`
 * find them compiled.
 */
async function guestSteps({ command, env }: Cargo): Promise<Step[]> {
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
    return [format]
  }
  return [
    format,
    cargo('lint', 'clippy', '--quiet', '--locked', '--release', '--all-targets', '--', '-D', 'warnings'),
    { ...cargo('tests', 'test', '--locked', '--release', '--no-fail-fast'), count: countCargoTests },
  ]
}

/**
 * The native tests, and the framework's over a socket, on the hardware KVM of an emulated machine: with nested paging, and at
 * the same time without. Whether the emulator can be had, it finds out itself.
 */
function emulatedAmdV(cargo: Cargo): Step {
  return hardwareStep('emulated AMD-V', cargo, [
    '--npt=1',
    '--npt=0',
    '--budget',
    String(BUDGET_SECONDS),
    '--deno',
    Deno.execPath(),
  ])
}

function emulatedVtx(cargo: Cargo, more: readonly string[]): Step {
  return hardwareStep('emulated VT-x', cargo, [
    '--bochs',
    '--deno',
    Deno.execPath(),
    ...more,
  ])
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

function skipNative(error: unknown): undefined {
  if (!(error instanceof ToolchainError)) throw error
  console.log(`SKIPPED: the native half: ${error.message}`)
}

async function runStep(step: Step): Promise<Count> {
  console.log(bold(`\n== ${step.name}`))
  const child = new Deno.Command(step.command, {
    args: [...step.args],
    cwd: step.cwd ?? ROOT,
    stdin: 'null',
    stdout: 'piped',
    stderr: 'piped',
    env: { NO_COLOR: '1', ...step.env },
  }).spawn()
  const [stdout, stderr, status] = await Promise.all([
    pass(child.stdout, Deno.stdout),
    pass(child.stderr, Deno.stderr),
    child.status,
  ])
  const count = step.count?.(stdout + stderr) ?? { passed: status.success ? 1 : 0, failed: 0, skipped: 0 }
  // A run that died before its summary has failed, whatever it counted.
  if (!status.success && count.failed === 0) count.failed = 1
  const verdict = status.success ? green('ok') : red(`failed with code ${status.code}`)
  const skipped = count.skipped === 0 ? '' : yellow(`, ${count.skipped} skipped`)
  console.log(`== ${step.name}: ${verdict}${skipped}`)
  return count
}

/** Copies a child's output to ours while it comes, and gives it whole. */
async function pass(
  from: ReadableStream<Uint8Array<ArrayBuffer>>,
  to: { writeSync(data: Uint8Array): number },
) {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of from) {
    for (let sent = 0; sent < chunk.length;) sent += to.writeSync(chunk.subarray(sent))
    text += decoder.decode(chunk, { stream: true })
  }
  return text
}

/** The last summary of `deno test`: `ok | 12 passed (3 steps) | 0 failed | 1 ignored (2s)`. */
function countDenoTests(output: string): Count | undefined {
  const summaries = [
    ...output.matchAll(
      /\| (\d+) passed(?: \(\d+ steps?\))? \| (\d+) failed(?: \(\d+ steps?\))?(?: \| (\d+) ignored)?/g,
    ),
  ]
  const last = summaries.at(-1)
  if (last === undefined) return undefined
  return { passed: Number(last[1]), failed: Number(last[2]), skipped: Number(last[3] ?? 0) }
}

/** The sum of the summaries of `cargo test`: `test result: ok. 3 passed; 0 failed; 1 ignored; ...`. */
function countCargoTests(output: string): Count | undefined {
  const summaries = [...output.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm)]
  if (summaries.length === 0) return undefined
  const sum = (group: number) => summaries.reduce((total, match) => total + Number(match[group]), 0)
  return { passed: sum(1), failed: sum(2), skipped: sum(3) }
}

/** The last line of our own runners: `12 passed, 0 failed, 1 skipped`. */
function countRunner(output: string): Count | undefined {
  const last = [...output.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)].at(-1)
  if (last === undefined) return undefined
  return { passed: Number(last[1]), failed: Number(last[2]), skipped: Number(last[3] ?? 0) }
}

if (import.meta.main) Deno.exit(await main(Deno.args))
