/** What neighbours met, gathered over rounds. */
import { Durations } from '../soak/durations.ts'

/** The neighbour's milliseconds beside one attacker: `p50`, `p99` and `most` of all rounds together. */
export interface Row {
  readonly attacker: string
  readonly attacks: number
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly most: number
  readonly wrong: number
  /** The p99 of each round. */
  readonly rounds: readonly number[]
  /**
   * Each round's p99 to that of the same round without an attacker, and of these the median: what befalls the machine for a moment
   * is in one round, and what slows it for longer is in both p99s.
   */
  readonly toAlone: number
}

/** What a neighbour met beside one attacker. */
export class Tally {
  readonly attacker: string
  readonly durations = new Durations()
  /** The same by round. */
  readonly rounds: Durations[] = []
  attacks = 0
  wrong = 0

  constructor(attacker: string) {
    this.attacker = attacker
  }

  /** Adds a wait of the given round, in milliseconds. Rounds come one after another. */
  add(round: number, ms: number): void {
    this.durations.add(ms)
    const ofRound = this.rounds[round] ??= new Durations()
    ofRound.add(ms)
  }
}

/** Rows of tallies of the same rounds, the first of which is that without an attacker. */
export function toRows(tallies: readonly Tally[]): Row[] {
  const alone = toP99s(tallies[0])
  return tallies.map((tally) => {
    const { attacker, attacks, wrong, durations } = tally
    const [p50, p99] = [durations.quantile(0.5), durations.quantile(0.99)]
    const rounds = toP99s(tally)
    const toAlone = median(rounds.map((p99, round) => p99 / alone[round]))
    return {
      attacker,
      attacks,
      count: durations.count,
      p50,
      p99,
      most: durations.most,
      wrong,
      rounds,
      toAlone,
    }
  })
}

function toP99s({ rounds }: Tally): number[] {
  return rounds.map((round) => round.quantile(0.99))
}

/** The middle one, or the mean of both; NaN of none. */
function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2
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
