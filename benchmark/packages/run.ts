/**
 * `deno task bench --packages`: the handlers of `tests/packages` in stock Deno, isolated and plain, in turns. Flags:
 *
 * - `--quick`: one round of 50 ms a turn, and nothing written but `quick.packages.json`
 * - `--rounds 5`: default 5, `--ms 150`: milliseconds of a turn
 * - `--only zod,hono`: these packages
 * - `--every 2`: every second package
 */
import { fromFileUrl } from '@std/path'
import { KNOWN_DIFFERENCES } from '../../tests/packages/known.ts'
import { listHandlers } from '../../tests/packages/sites.ts'
import { describeMachine } from '../machine.ts'
import { readRunFlags } from '../run_flags.ts'
import { median } from '../statistics.ts'
import { drawPackages } from './chart.ts'
import type { PackageTimes } from './measure.ts'
import {
  describePackages,
  type PackagesReport,
  toPackageRow,
  toPackagesFigures,
  toPackagesTable,
} from './report.ts'

const CONFIG = fromFileUrl(new URL('../../tests/packages/deno.json', import.meta.url))
const MEASURE = fromFileUrl(new URL('./measure.ts', import.meta.url))
const RESULTS = new URL('../results/', import.meta.url)

/** Measures, prints and writes. Resolves to whether every package could be measured. */
export async function main(args: readonly string[]): Promise<boolean> {
  const at = args.indexOf('--every')
  const every = at === -1 ? 1 : Number(args[at + 1])
  if (!Number.isInteger(every) || every < 1) {
    throw new TypeError(`Cannot run the benchmark: --every ${args[at + 1]}, want a number from 1`)
  }
  const others = at === -1 ? args : args.toSpliced(at, 2)
  const { whole, rounds, length: ms, only } = readRunFlags(others, 'ms', { whole: [5, 150], quick: [1, 50] })
  const all = await measurable()
  const names = only ?? all.filter((_, index) => index % every === 0)
  const times: PackageTimes[] = []
  const skipped: { name: string; reason: string }[] = []
  const loads: number[] = []
  for (const name of names) {
    loads.push(Deno.loadavg()[0])
    const result = await measure(name, rounds, ms)
    if (typeof result === 'string') skipped.push({ name, reason: result })
    else times.push(result)
    const row = typeof result === 'string' ? undefined : toPackageRow(result)
    console.error(
      `${name.padEnd(24)} ${
        row === undefined
          ? result
          : `${row.warmRatio.toFixed(2)} ${row.codeRatio.toFixed(2)} ${row.unaskedRatio.toFixed(2)}`
      }`,
    )
  }
  if (times.length === 0) {
    throw new Error(`Cannot run the benchmark: no package could be measured: ${skipped[0]?.reason}`)
  }
  const rows = times.map(toPackageRow)
  const report: PackagesReport = {
    machine: describeMachine(),
    date: new Date().toISOString(),
    rounds,
    suite: all.length,
    load: [Math.min(...loads), Math.max(...loads)],
    empty: {
      plain: median(times.map(({ empty }) => Math.min(...empty.plain)))!,
      machine: median(times.map(({ empty }) => Math.min(...empty.machine)))!,
    },
    packages: rows,
    figures: toPackagesFigures(rows),
    skipped,
  }
  console.log(`${describePackages(report)}\n\n${toPackagesTable(report)}`)
  await Deno.mkdir(RESULTS, { recursive: true })
  const name = whole ? 'packages' : 'quick.packages'
  await Deno.writeTextFile(new URL(`${name}.json`, RESULTS), `${JSON.stringify(report, null, 2)}\n`)
  if (whole) await Deno.writeTextFile(new URL('packages.svg', RESULTS), drawPackages(report))
  return skipped.length === 0
}

/** Without those that the runtime is known to answer otherwise, whatever they are asked. */
async function measurable(): Promise<string[]> {
  const other = new Set(
    KNOWN_DIFFERENCES.filter(({ runtime, inputs }) => runtime === 'deno' && inputs === undefined).map((
      { name },
    ) => name),
  )
  return (await listHandlers()).filter((name) => !other.has(name))
}

/** Its times, or why there are none. */
async function measure(name: string, rounds: number, ms: number): Promise<PackageTimes | string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      'run',
      '-A',
      '--no-check',
      '--no-prompt',
      '--frozen',
      '--config',
      CONFIG,
      MEASURE,
      name,
      `${rounds}`,
      `${ms}`,
    ],
    stdin: 'null',
    env: { DENO_ENV: 'production', NODE_ENV: 'production', TZ: 'UTC', NO_COLOR: '1' },
  }).output()
  const decoder = new TextDecoder()
  if (success) return JSON.parse(decoder.decode(stdout).trim().split('\n').at(-1)!)
  return /^error: .*$/m.exec(decoder.decode(stderr))?.[0] ?? decoder.decode(stderr).trim()
}
