/** What neighbours met, gathered over rounds. */
import { Durations } from '../soak/durations.ts'

/** The neighbour's milliseconds beside one attacker, all rounds together. */
export interface Row {
  readonly attacker: string
  readonly attacks: number
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly most: number
  readonly wrong: number
  /** Its p99 to that of the rounds without an attacker. */
  readonly toAlone: number
}

/** What a neighbour met beside one attacker. */
export class Tally {
  readonly attacker: string
  readonly durations = new Durations()
  attacks = 0
  wrong = 0

  constructor(attacker: string) {
    this.attacker = attacker
  }
}

/** Rows of tallies, the first of which is that without an attacker. */
export function toRows(tallies: readonly Tally[]): Row[] {
  const alone = tallies[0].durations.quantile(0.99)
  return tallies.map(({ attacker, attacks, wrong, durations }) => {
    const [p50, p99] = [durations.quantile(0.5), durations.quantile(0.99)]
    const { count, most } = durations
    return { attacker, attacks, count, p50, p99, most, wrong, toAlone: p99 / alone }
  })
}

/** A table for people. */
export function toText(rows: readonly Row[]): string {
  const lines = rows.map(({ attacker, attacks, p50, p99, most, toAlone, wrong }) => {
    const numbers = [p50, p99, most, toAlone].map((n) => n.toFixed(2).padStart(10)).join('')
    const words = wrong === 0 ? '' : `  ${wrong} WRONG`
    return `${attacker.padEnd(24)}${String(attacks).padStart(10)}${numbers}${words}`
  })
  return ['neighbour beside           attacks    p50 ms    p99 ms   most ms  to alone', ...lines].join('\n')
}
