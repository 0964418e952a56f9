/** Where no program can run: 503, with the reason. */
import { type Context, HttpError } from '@mayfly/mayfly'
import { sayCause, sayPhase } from '../isolation.ts'
import { siteOf } from '../site.ts'
import { type Attempt, BusyError, prepare } from './attempt.ts'

/** Runs a program of a visitor. Throws `HttpError` 503 where no machine can run, while the machines start, and when all are busy. */
export async function runOrRefuse(ctx: Context, run: () => Promise<Attempt>): Promise<Attempt> {
  const { isolation, playground } = siteOf(ctx)
  if (isolation.phase === 'waiting' || isolation.phase === 'booting') {
    prepare(playground)
    throw new HttpError(503, sayPhase(isolation), {
      type: 'isolation-starting',
      headers: { 'retry-after': '1' },
    })
  }
  try {
    return await run()
  } catch (error) {
    if (error instanceof BusyError) {
      throw new HttpError(503, error.message, { type: 'busy', headers: { 'retry-after': '2' } })
    }
    if (error instanceof Error && error.name === 'IsolationUnavailableError') {
      throw new HttpError(503, sayCause(error), { type: 'isolation-unavailable' })
    }
    throw error
  }
}
