import { type Context, type Handler, HttpError } from '@mayfly/mayfly'
import { sayCause, sayPhase } from '../../_lib/isolation.ts'
import { type Attempt, attempt, BusyError, MAX_CODE, prepare } from '../../_lib/playground/attempt.ts'
import { showPlayground } from '../../_lib/playground/page.ts'
import type { Language } from '../../_lib/playground/samples.ts'
import { siteOf } from '../../_lib/site.ts'

/** Runs a program. A script sends JSON and gets JSON; a plain form gets the page. */
export const POST: Handler = async (ctx) => {
  const isScript = ctx.get.header('content-type')?.startsWith('application/json') === true
  const { code, language } = readDraft(await ctx.get.body())
  const result = await run(ctx, code, language)
  if (isScript) return ctx.send.json(result, { headers: { 'cache-control': 'no-store' } })
  return showPlayground(ctx, { code, language, result })
}

/** What a client sent may be anything. Throws `HttpError` 400. */
function readDraft(body: unknown): { code: string; language: Language } {
  const { code, language } = (typeof body === 'object' && body !== null ? body : {}) as Record<
    string,
    unknown
  >
  if (typeof code !== 'string') throw new HttpError(400, 'code is missing: want the text of a program')
  if (code.length > MAX_CODE) {
    throw new HttpError(400, `code has ${code.length} characters: want at most ${MAX_CODE}`)
  }
  if (language !== 'js' && language !== 'ts') {
    throw new HttpError(400, `language is ${JSON.stringify(language)?.slice(0, 40)}: want "js" or "ts"`)
  }
  return { code: code.replaceAll('\r\n', '\n'), language }
}

/** 503 where no machine can run, with the reason, and while the machines start or all are busy. */
async function run(ctx: Context, code: string, language: Language): Promise<Attempt> {
  const { isolation, playground } = siteOf(ctx)
  if (isolation.phase === 'waiting' || isolation.phase === 'booting') {
    prepare(playground)
    throw new HttpError(503, sayPhase(isolation), {
      type: 'isolation-starting',
      headers: { 'retry-after': '1' },
    })
  }
  try {
    return await attempt(playground, code, language)
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
