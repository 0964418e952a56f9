import { parseArgs } from '@std/cli/parse-args'

/** How long and what a benchmark of several ways runs. */
export interface RunFlags {
  /** Everything, at full length. */
  readonly whole: boolean
  readonly rounds: number
  /** Of one run, in the unit of the flag. */
  readonly length: number
  /** What `--only` names. */
  readonly only: readonly string[] | undefined
}

/** Rounds, and the length of a run. */
type Lengths = readonly [rounds: number, length: number]

/**
 * Reads `--quick`, `--rounds n`, `--UNIT n` and `--only a,b`; `whole` and `quick` are what holds without the numbers. Throws `TypeError` for
 * an argument that is unknown, and for a value that is none.
 */
export function readRunFlags(
  args: readonly string[],
  unit: 'seconds' | 'ms',
  { whole, quick: short }: { readonly whole: Lengths; readonly quick: Lengths },
): RunFlags {
  const { quick, only, ...given } = parseArgs<
    { quick: boolean; rounds?: string; seconds?: string; ms?: string; only?: string }
  >(args, {
    boolean: ['quick'],
    string: ['rounds', unit, 'only'],
    unknown(argument) {
      throw new TypeError(
        `Cannot run the benchmark: unknown argument ${argument}, want --quick, --rounds n, --${unit} n, --only names`,
      )
    },
  })
  const lengths = quick ? short : whole
  const rounds = Number(given.rounds ?? lengths[0])
  const length = Number(given[unit] ?? lengths[1])
  if (!Number.isInteger(rounds) || rounds < 1 || !(length > 0)) {
    throw new TypeError(
      `Cannot run the benchmark: --rounds ${rounds} --${unit} ${length}, want a number from 1 and one above 0`,
    )
  }
  return { whole: !quick && only === undefined, rounds, length, only: only?.split(',') }
}
