import { type Handler, HttpError } from '@mayfly/mayfly'
import { attempt, MAX_CODE } from '../../_lib/playground/attempt.ts'
import { showPlayground } from '../../_lib/playground/page.ts'
import { runOrRefuse } from '../../_lib/playground/refuse.ts'
import type { Language } from '../../_lib/playground/samples.ts'
import { siteOf } from '../../_lib/site.ts'

/** Runs a program. A script sends JSON and gets JSON; a plain form gets the page. */
export const POST: Handler = async (ctx) => {
  const isScript = ctx.get.header('content-type')?.startsWith('application/json') === true
  const { code, language } = readDraft(await ctx.get.body())
  const result = await runOrRefuse(ctx, () => attempt(siteOf(ctx).playground, code, language))
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
