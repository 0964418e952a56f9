/** Runs the steps of a tier, lane beside lane, and counts their tests. */
import { bold, green, red, yellow } from '@std/fmt/colors'
import { fromFileUrl } from '@std/path'

export const ROOT = fromFileUrl(new URL('..', import.meta.url))

export interface Step {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Minutes after which it is interrupted, and says what it was at; without it, it may take as long as it likes. */
  readonly minutes?: number
  /** Reads the numbers of tests from the step's output; without it the step counts as one. */
  readonly count?: (output: string) => Count | undefined
}

export interface Count {
  passed: number
  failed: number
  skipped: number
}

/** What of a step is shown: while it runs, or behind its end, where others run beside it. */
type Show = 'live' | 'late'

/** What runs beside each other. */
export interface Stage {
  /** The steps of each lane, in turn. */
  readonly lanes: readonly (readonly Step[])[]
  /** Steps that any lane takes which has done its own, so that no core waits for the longest lane. */
  readonly shared: readonly Step[]
  /** How many of them the last lane takes at a time, where its own steps fill both cores and these do not. Default 1. */
  readonly atATime?: number
}

/** Runs a stage. Adds to the sum, and the names of the steps that failed. */
export async function runStage(
  { lanes, shared, atATime = 1 }: Stage,
  total: Count,
  broken: string[],
): Promise<void> {
  const show = lanes.length > 1 ? 'late' : 'live'
  const left = [...shared]
  const runInTurn = async (steps: Step[]) => {
    for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
      const count = await runStep(step, show)
      total.passed += count.passed
      total.failed += count.failed
      total.skipped += count.skipped
      if (count.failed > 0) broken.push(step.name)
    }
  }
  await Promise.all(lanes.map(async (own, at) => {
    await runInTurn([...own])
    const takers = at === lanes.length - 1 ? atATime : 1
    await Promise.all(Array.from({ length: takers }, () => runInTurn(left)))
  }))
}

async function runStep(step: Step, show: Show): Promise<Count> {
  if (show === 'live') console.log(bold(`\n== ${step.name}`))
  const begin = performance.now()
  const child = new Deno.Command(step.command, {
    args: [...step.args],
    cwd: step.cwd ?? ROOT,
    stdin: 'null',
    stdout: 'piped',
    stderr: 'piped',
    env: { NO_COLOR: '1', ...step.env },
  }).spawn()
  const deadline = endAfter(child, step.minutes)
  const sink = show === 'live' ? (chunk: Uint8Array) => writeAll(chunk) : () => {}
  const [stdout, stderr, status] = await Promise.all([
    pass(child.stdout, sink),
    pass(child.stderr, sink),
    child.status,
  ])
  deadline.clear()
  const count = step.count?.(stdout + stderr) ?? { passed: status.success ? 1 : 0, failed: 0, skipped: 0 }
  // A run that died before its summary has failed, whatever it counted.
  if (!status.success && count.failed === 0) count.failed = 1
  if (show === 'late') {
    const aloud = stdout.split('\n').filter((line) => line.includes('SKIPPED'))
    const shown = status.success ? aloud.map((line) => `${line}\n`).join('') : stdout + stderr
    console.log(bold(`\n== ${step.name}`))
    writeAll(new TextEncoder().encode(shown))
  }
  const verdict = status.success ? green('ok') : red(`failed with code ${status.code}`)
  const skipped = count.skipped === 0 ? '' : yellow(`, ${count.skipped} skipped`)
  const seconds = ((performance.now() - begin) / 1000).toFixed(0)
  console.log(`== ${step.name}: ${verdict}, ${count.passed} passed${skipped}, ${seconds} s`)
  return count
}

/** Grace of a step that was interrupted, in milliseconds. */
const GRACE_MS = 10_000

/** Interrupts a child that takes longer than so many minutes, and kills it soon after. */
function endAfter(child: Deno.ChildProcess, minutes: number | undefined): { clear(): void } {
  if (minutes === undefined) return { clear: () => {} }
  let kill: ReturnType<typeof setTimeout> | undefined
  const interrupt = setTimeout(() => {
    child.kill('SIGINT')
    kill = setTimeout(() => child.kill('SIGKILL'), GRACE_MS)
  }, minutes * 60_000)
  return {
    clear() {
      clearTimeout(interrupt)
      clearTimeout(kill)
    },
  }
}

/** Gives what a child writes to `sink` while it comes, and in the end as text. */
async function pass(
  from: ReadableStream<Uint8Array<ArrayBuffer>>,
  sink: (chunk: Uint8Array) => void,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of from) {
    sink(chunk)
    text += decoder.decode(chunk, { stream: true })
  }
  return text
}

function writeAll(bytes: Uint8Array): void {
  for (let sent = 0; sent < bytes.length;) sent += Deno.stdout.writeSync(bytes.subarray(sent))
}

/** The last summary of `deno test`: `ok | 12 passed (3 steps) | 0 failed | 1 ignored (2s)`. */
export function countDenoTests(output: string): Count | undefined {
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
export function countCargoTests(output: string): Count | undefined {
  const summaries = [...output.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm)]
  if (summaries.length === 0) return undefined
  const sum = (group: number) => summaries.reduce((total, match) => total + Number(match[group]), 0)
  return { passed: sum(1), failed: sum(2), skipped: sum(3) }
}

/** The last line of our own runners: `12 passed, 0 failed, 1 skipped`. */
export function countRunner(output: string): Count | undefined {
  const last = [...output.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)].at(-1)
  if (last === undefined) return undefined
  return { passed: Number(last[1]), failed: Number(last[2]), skipped: Number(last[3] ?? 0) }
}

/** The last line of h2spec: `145 tests, 144 passed, 1 skipped, 0 failed`; one skipped where its script says so. */
export function countH2spec(output: string): Count | undefined {
  if (output.includes('SKIPPED')) return { passed: 0, failed: 0, skipped: 1 }
  const found = /^\d+ tests, (\d+) passed, (\d+) skipped, (\d+) failed$/m.exec(output)
  if (found === null) return undefined
  return { passed: Number(found[1]), failed: Number(found[3]), skipped: Number(found[2]) }
}
