/** What `deno task bench --packages` found. */
import { formatMachine } from '../report.ts'
import type { Machine } from '../machine.ts'
import { median } from '../statistics.ts'
import type { PackageTimes } from './measure.ts'

/** One package. Times are microseconds of one pass over its inputs, medians of the rounds; ratios are medians of each round's. */
export interface PackageRow {
  readonly name: string
  readonly inputs: number
  readonly plainUs: number
  /** Machine's time, warmed up with the inputs, and its ratio to the plain handler's time. */
  readonly warmUs: number
  readonly warmRatio: number
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
export function toPackageRow({ name, plain, warm, unasked, ready }: PackageTimes): PackageRow {
  const passes = (rounds: readonly (readonly number[])[]) =>
    rounds.map((inputs) => inputs.reduce((sum, us) => sum + us))
  const plainPasses = passes(plain)
  const compare = (rounds: readonly (readonly number[])[]) => {
    const own = passes(rounds)
    return { us: median(own)!, ratio: median(own.map((us, round) => us / plainPasses[round]))! }
  }
  const [asked, other] = [compare(warm), compare(unasked)]
  return {
    name,
    inputs: plain[0].length,
    plainUs: median(plainPasses)!,
    warmUs: asked.us,
    warmRatio: asked.ratio,
    unaskedUs: other.us,
    unaskedRatio: other.ratio,
    settled: ready.warm.settled,
  }
}

/** Medians over the rows, and what nine in ten reach. */
export function toPackagesFigures(rows: readonly PackageRow[]): PackagesFigure[] {
  const asked = rows.map(({ warmRatio }) => warmRatio).toSorted((a, b) => a - b)
  const react = rows.find(({ name }) => name === 'react')
  return [
    { name: 'median, warmed up with the inputs', seen: median(asked)!, atMost: 1.15 },
    {
      name: 'nine in ten, warmed up with the inputs',
      seen: asked[Math.ceil(asked.length * 0.9) - 1],
      atMost: 1.5,
    },
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
export function toPackagesTable({ packages, figures, skipped }: PackagesReport): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  const above = (value: (row: PackageRow) => number) =>
    BOUNDS.map((bound) => `${packages.filter((row) => value(row) > bound).length} above ${bound}`).join(', ')
  return line(['package', 'plain', 'machine', 'ratio', 'default warm-up', 'ratio']) +
    line(['---', '---:', '---:', '---:', '---:', '---:']) +
    packages.map((row) =>
      line([
        row.name,
        micros(row.plainUs),
        micros(row.warmUs),
        row.warmRatio.toFixed(2),
        micros(row.unaskedUs),
        row.unaskedRatio.toFixed(2),
      ])
    ).join('') +
    `\nOf ${packages.length}: ${above((row) => row.warmRatio)}; default warm-up: ${
      above((row) => row.unaskedRatio)
    }.\n\n` +
    line(['must hold', 'seen', 'wanted', '']) + line(['---', '---:', '---:', '---']) +
    figures.map(({ name, seen, atMost }) =>
      line([name, seen.toFixed(2), `at most ${atMost.toFixed(2)}`, seen <= atMost ? 'reached' : 'missed'])
    ).join('') +
    skipped.map(({ name, reason }) => `\nNot measured: ${name}: ${reason}\n`).join('')
}

/** Where and how it was measured, a line. */
export function describePackages({ machine, date, rounds }: PackagesReport): string {
  return `${formatMachine(machine)}; ${date.slice(0, 10)}, medians of ${rounds} rounds`
}

/** Microseconds, as milliseconds where they are many. */
export function micros(us: number): string {
  return us < 1000 ? `${us.toFixed(0)} µs` : `${(us / 1000).toFixed(us < 10_000 ? 2 : 1)} ms`
}
