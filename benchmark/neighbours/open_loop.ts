/** A neighbour that asks at even distances, whether it was answered or not: a late answer does not hide the wait of the next ones. */
import type { Tally } from './rows.ts'

/** Between two requests, in milliseconds. */
export const PERIOD_MS = 10
/** Rest before the first, for what another one left to be done. */
const REST_MS = 100

/** Asks a hundred times a second for so many seconds of a round; `ask` says whether the answer to a number was right. */
export async function askEvenly(
  ask: (id: number) => Promise<boolean>,
  tally: Tally,
  round: number,
  seconds: number,
): Promise<void> {
  await sleep(REST_MS)
  const one = async (id: number) => {
    const start = performance.now()
    const isRight = await ask(id)
    tally.add(round, performance.now() - start)
    if (!isRight) tally.wrong++
  }
  const asked: Promise<void>[] = []
  const begin = performance.now()
  const total = Math.round(seconds * 1000 / PERIOD_MS)
  while (asked.length < total) {
    const due = begin + asked.length * PERIOD_MS
    if (performance.now() < due) await sleep(due - performance.now())
    asked.push(one(asked.length))
  }
  await Promise.all(asked)
}

/** Waits, in milliseconds. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
