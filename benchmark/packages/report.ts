/** What `deno task bench --packages` found. */
import { formatMachine } from '../report.ts'
import type { Machine } from '../machine.ts'
import { median } from '../statistics.ts'
import type { PackageTimes } from './measure.ts'

/**
 * One package. Times are microseconds of CPU time of one pass over its inputs: for each input the least of the rounds' medians. What else
 * runs on the host only ever adds time, for tenths of a second at a stretch, so the least is what the code itself takes (Chen and Revels,
 * "Robust benchmarking in noisy environments", 2016).
 */
export interface PackageRow {
  readonly name: string
  readonly inputs: number
  readonly plainUs: number
  /** Machine's time, warmed up with the inputs, and its ratio to the plain handler's time. */
  readonly warmUs: number
  readonly warmRatio: number
  /** The same ratio, without what a request to an empty handler takes more in a machine than plain: the handler's own code. */
  readonly codeRatio: number
  /** The same with the default warm-up. */
  readonly unaskedUs: number
  readonly unaskedRatio: number
  readonly settled: boolean
}

/** What lies in results/packages.json. */
export interface PackagesReport {
  readonly machine: Machine
  readonly date: string
  readonly rounds: number
  /** Packages that could be measured; those of the report may be a part. */
  readonly suite: number
  /** Least and largest load of the machine between two packages. */
  readonly load: readonly number[]
  /** Microseconds of a request to an empty handler: what any request takes, the least of each package's rounds, the median of the packages. */
  readonly empty: Readonly<Record<'plain' | 'machine', number>>
  /** By name. */
  readonly packages: readonly PackageRow[]
  readonly figures: readonly PackagesFigure[]
  /** Packages that could not be measured. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[]
}

/** What must hold of all packages together. */
export interface PackagesFigure {
  readonly name: string
  readonly seen: number
  readonly atMost: number
}

const BOUNDS = [1.15, 1.5, 2] as const

/** The row of a package's times. */
export function toPackageRow({ name, plain, warm, unasked, empty, ready }: PackageTimes): PackageRow {
  const inputs = plain[0].length
  const [plainUs, warmUs, unaskedUs] = [plain, warm, unasked].map(toPass)
  const extra = (Math.min(...empty.machine) - Math.min(...empty.plain)) * inputs
  return {
    name,
    inputs,
    plainUs,
    warmUs,
    warmRatio: warmUs / plainUs,
    codeRatio: (warmUs - extra) / plainUs,
    unaskedUs,
    unaskedRatio: unaskedUs / plainUs,
    settled: ready.warm.settled,
  }
}

/** One pass over the inputs: for each the least of the rounds. */
function toPass(rounds: readonly (readonly number[])[]): number {
  return rounds[0].reduce((sum, _, input) => sum + Math.min(...rounds.map((round) => round[input])), 0)
}

/** Medians over the rows, and what nine in ten reach. */
export function toPackagesFigures(rows: readonly PackageRow[]): PackagesFigure[] {
  const asked = rows.map(({ warmRatio }) => warmRatio).toSorted((a, b) => a - b)
  const code = rows.map(({ codeRatio }) => codeRatio).toSorted((a, b) => a - b)
  const mostOf = (ratios: readonly number[]) => ratios[Math.ceil(ratios.length * 0.9) - 1]
  const react = rows.find(({ name }) => name === 'react')
  return [
    { name: 'median, warmed up with the inputs', seen: median(asked)!, atMost: 1.15 },
    {
      name: 'nine in ten, warmed up with the inputs',
      seen: mostOf(asked),
      atMost: 1.5,
    },
    { name: "median of the handlers' own code", seen: median(code)!, atMost: 1.15 },
    { name: "nine in ten, of the handlers' own code", seen: mostOf(code), atMost: 1.5 },
    {
      name: 'median, default warm-up',
      seen: median(rows.map(({ unaskedRatio }) => unaskedRatio))!,
      atMost: 2,
    },
    ...(react === undefined
      ? []
      : [{ name: 'React, a page of 50 components', seen: react.warmRatio, atMost: 1.15 }]),
  ]
}

/** The rows and figures as a table of Markdown. */
export function toPackagesTable({ empty, packages, figures, skipped }: PackagesReport): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  const above = (value: (row: PackageRow) => number) =>
    BOUNDS.map((bound) => `${packages.filter((row) => value(row) > bound).length} above ${bound}`).join(', ')
  return line(['package', 'plain', 'machine', 'ratio', 'own code', 'default warm-up', 'ratio']) +
    line(['---', '---:', '---:', '---:', '---:', '---:', '---:']) +
    packages.map((row) =>
      line([
        row.name,
        micros(row.plainUs),
        micros(row.warmUs),
        row.warmRatio.toFixed(2),
        row.codeRatio.toFixed(2),
        micros(row.unaskedUs),
        row.unaskedRatio.toFixed(2),
      ])
    ).join('') +
    `\nOf ${packages.length}: ${above((row) => row.warmRatio)}; own code: ${
      above((row) => row.codeRatio)
    }; default warm-up: ${above((row) => row.unaskedRatio)}.\n\n` +
    `A request to an empty handler takes ${micros(empty.plain)} plain and ${
      micros(empty.machine)
    } in a machine. ` +
    `_Own code_ is the ratio without that difference.\n\n` +
    line(['must hold', 'seen', 'wanted', '']) + line(['---', '---:', '---:', '---']) +
    figures.map(({ name, seen, atMost }) =>
      line([name, seen.toFixed(2), `at most ${atMost.toFixed(2)}`, seen <= atMost ? 'reached' : 'missed'])
    ).join('') +
    skipped.map(({ name, reason }) => `\nNot measured: ${name}: ${reason}\n`).join('')
}

/** Where and how it was measured, a line. */
export function describePackages({ machine, date, rounds, load, packages, suite }: PackagesReport): string {
  const part = `${packages.length} of ${suite} packages`
  return `${formatMachine(machine)}; ${
    date.slice(0, 10)
  }, ${part}, the least of ${rounds} rounds of CPU time, load ${
    load.map((value) => value.toFixed(0)).join(' to ')
  }`
}

/** Microseconds, as milliseconds where they are many. */
export function micros(us: number): string {
  return us < 1000 ? `${us.toFixed(0)} µs` : `${(us / 1000).toFixed(us < 10_000 ? 2 : 1)} ms`
}
