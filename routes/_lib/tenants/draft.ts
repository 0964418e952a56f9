/**
 * A visitor's version of the first tenant. It comes with the request, runs once and is thrown away: it gets no host, no name and no
 * place in a file, so nobody else meets it, and no browser opens what it answers as a page.
 */
import type { RunReport } from '@mayfly/mayfly/sandbox'
import {
  type Attempt,
  cut,
  type Playground,
  RUN_LIMITS,
  runAttempt,
  toCost,
  toMs,
} from '../playground/attempt.ts'
import { FOLDER } from './tenants.ts'

/** The tenant that visitors may edit. */
export const EDITED = 'acme'
/** Characters of a draft. */
export const MAX_DRAFT = 8000
/** Characters of a path. */
export const MAX_PATH = 200

/** The text that visitors begin with. */
export function readMain(): Promise<string> {
  return Deno.readTextFile(new URL(`${EDITED}/main.ts`, FOLDER))
}

/** Asks a draft. Rejects with `BusyError` when too many programs run, and where there is no machine. */
export function askDraft(playground: Playground, code: string, url: string): Promise<Attempt> {
  return runAttempt(playground, async (sandbox) => {
    const { env } = JSON.parse(await Deno.readTextFile(new URL(`${EDITED}/tenant.json`, FOLDER)))
    const worker = sandbox.load({
      mainModule: 'main.ts',
      modules: { 'main.ts': code },
      env,
      limits: RUN_LIMITS,
    })
    let report: RunReport | undefined
    const response = await worker.entrypoint('default', {
      props: { tenant: EDITED },
      limits: { onRun: (run) => report = run },
    }).fetch(url)
    const text = await response.text()
    const cost = await toCost(report!.stats)
    return {
      outcome: 'answered',
      verdict: `Answered ${response.status} after ${toMs(cost.run)} in a machine that was reset in ${
        toMs(cost.reset)
      }`,
      text: cut(`content-type: ${response.headers.get('content-type') ?? 'none'}\n\n${text}`),
      logs: report!.logs,
      cost,
    }
  })
}
