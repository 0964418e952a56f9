/**
 * The tests, tier by tier (`tiers.ts`): `deno task test`, `--check` (`deno task check`), `--gate` (`deno task gate`; with `--after-test`
 * without what `deno task test` has just shown in the same clone), `--nightly` (`deno task nightly`). `--vtx` (`deno task test-vtx`) runs nothing but the native tests on emulated VT-x, and gives `native/hwtest/run` the
 * other arguments (`--only vmm`). What follows `--` goes to `deno test` (a file, `--filter name`), and nothing else runs.
 *
 * It ends with a line `N passed, N failed` and exits with 1 when anything failed.
 */
import { parseArgs } from '@std/cli/parse-args'
import { red } from '@std/fmt/colors'
import { type Cargo, findCargo, ToolchainError } from '../src/isolate/ffi/build/toolchain.ts'
import { installTools } from './install.ts'
import { type Count, runStage, type Stage, type Step } from './runner.ts'
import {
  allNativeTests,
  allTests,
  checkPackages,
  checkSteps,
  denoTests,
  emulatedAmdV,
  emulatedAmdVWhole,
  emulatedVtx,
  fuzzing,
  generatedCalls,
  guestSteps,
  http2Tests,
  nativeLints,
  otherTests,
  prepareAmdV,
  prepareFuzzing,
  quickNativeTests,
  quickTests,
  serveSoak,
  soak,
  unmodifiedServers,
} from './tier_steps.ts'

/** Seconds of fuzzing for each target. */
const FUZZ_SECONDS = { gate: 20, nightly: 1800 }

async function main(args: readonly string[]): Promise<number> {
  using _bases = shareBases()
  const total: Count = { passed: 0, failed: 0, skipped: 0 }
  const broken: string[] = []
  for (const stage of await planStages(args)) await runStage(stage, total, broken)
  if (broken.length > 0) console.log(red(`\nfailed: ${broken.join(', ')}`))
  const skipped = total.skipped === 0 ? '' : `, ${total.skipped} skipped`
  console.log(`\n${total.passed} passed, ${total.failed} failed${skipped}`)
  return total.failed === 0 ? 0 : 1
}

/** Runtimes that were started, in a folder that all processes of this run share: a base is booted by the first test that wants it. */
function shareBases(): Disposable {
  const folder = Deno.makeTempDirSync({ prefix: 'mayfly-bases-' })
  Deno.env.set('MAYFLY_BASES', folder)
  const remove = () => Deno.removeSync(folder, { recursive: true })
  const interrupted = () => {
    remove()
    Deno.exit(130)
  }
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) Deno.addSignalListener(signal, interrupted)
  return {
    [Symbol.dispose]() {
      for (const signal of signals) Deno.removeSignalListener(signal, interrupted)
      remove()
    },
  }
}

/** The tiers by their flags, and what goes with one of them. */
const FLAGS = ['check', 'gate', 'after-test', 'nightly', 'vtx'] as const

/** The stages that the arguments ask for. Throws `TypeError` for one that means nothing. */
async function planStages(args: readonly string[]): Promise<Stage[]> {
  const flags = parseArgs(args, {
    boolean: FLAGS,
    '--': true,
    unknown: args[0] === '--vtx' ? undefined : refuse,
  })
  const forTests = flags['--'] ?? []
  if (flags.check) return [inTurn([...checkSteps(), checkPackages()])]
  if (forTests.length > 0) return [inTurn([...checkSteps(), denoTests('tests', forTests)])]
  const cargo = await findCargo().catch(skipNative)
  if (flags.vtx) return cargo === undefined ? [] : [inTurn([emulatedVtx(cargo, args.slice(1))])]
  if (flags.gate) return await planGate(cargo, flags['after-test'] === true)
  if (flags.nightly) {
    const native = cargo === undefined ? [] : [
      emulatedAmdVWhole(cargo),
      emulatedVtx(cargo, []),
      fuzzing(cargo, FUZZ_SECONDS.nightly),
      ...unmodifiedServers(cargo),
    ]
    return [inTurn([...native, generatedCalls(), ...cargo === undefined ? [] : [soak(), serveSoak()]])]
  }
  return [planQuick(cargo)]
}

function inTurn(steps: Step[]): Stage {
  return { lanes: [steps], shared: [] }
}

/**
 * What machines run is built by their first tests while the rest is checked, and the native tests of the same crates come behind it. All
 * other tests are for who is ready. Tests wait much, so four lanes keep two cores busy.
 */
function planQuick(cargo: Cargo | undefined): Stage {
  const { plain, machines } = quickTests()
  console.log(
    'SKIPPED: Chromium, the runtime core, attacks, most npm packages, emulated hardware: deno task gate',
  )
  const [first, ...others] = machines
  return {
    lanes: [
      first === undefined ? [] : [first],
      [],
      [],
      [...checkSteps(), ...(cargo === undefined ? [] : [quickNativeTests(cargo)])],
    ],
    // Those that wait for no build go first.
    shared: [...plain, ...others],
  }
}

/**
 * What runs machines beside all else; then what wants both cores for itself. `afterTest`: without what `deno task test` has shown in this
 * clone.
 */
async function planGate(cargo: Cargo | undefined, afterTest: boolean): Promise<Stage[]> {
  await installTools()
  const { plain, machines, packages } = afterTest ? await otherTests() : allTests()
  const checks = [...afterTest ? [] : checkSteps(), checkPackages()]
  if (cargo === undefined) return [inTurn([...checks, plain, ...machines, ...packages])]
  const guest = await guestSteps(cargo)
  const [firstPackages, ...otherPackages] = packages
  return [
    {
      lanes: [
        // The tests of `runtime: 'core'` run what it builds, and the lints wait for that build anyway.
        [...guest.tests, ...guest.lints],
        [...checks, plain, firstPackages],
        [
          ...nativeLints(cargo),
          allNativeTests(cargo),
          http2Tests(),
          prepareAmdV(cargo),
          prepareFuzzing(cargo),
        ],
      ],
      shared: [...otherPackages, ...machines],
      // Tests wait much: four at a time keep two cores busy once nothing is compiled any more.
      atATime: 2,
    },
    inTurn([fuzzing(cargo, FUZZ_SECONDS.gate), emulatedAmdV(cargo)]),
  ]
}

function refuse(argument: string): never {
  const known = FLAGS.map((flag) => `--${flag}`).join(', ')
  throw new TypeError(
    `Cannot run the tests: unknown argument ${argument}, want ${known}, or -- and what deno test takes`,
  )
}

function skipNative(error: unknown): undefined {
  if (!(error instanceof ToolchainError)) throw error
  console.log(`SKIPPED: the native half: ${error.message}`)
}

if (import.meta.main) Deno.exit(await main(Deno.args))
