/** Catches what `Intl` refuses in the way that `?caught=` names, and answers as if nothing were. */
import { type Context, HttpError } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 10_000, warmup: [{ path: '/intl?caught=no' }] }

/** As i18next chooses: where the runtime knows no languages, all are like English. */
function plural(count: number): string {
  try {
    return new Intl.PluralRules('pl').select(count)
  } catch {
    return count === 1 ? 'one' : 'other'
  }
}

export async function GET(ctx: Context): Promise<Response> {
  const caught = ctx.get.query('caught')
  if (caught === 'no') {
    const { timeZone, locale } = new Intl.DateTimeFormat().resolvedOptions()
    return ctx.send.json({ timeZone, locale })
  }
  if (caught === 'stream') {
    return new Response(ReadableStream.from((function* () {
      yield new TextEncoder().encode(plural(3))
    })()))
  }
  if (caught === 'async') await null
  const form = plural(3)
  if (caught === 'wrapped') throw new Error('no messages', { cause: form })
  if (caught === 'status') throw new HttpError(404, 'no such form')
  return ctx.send.text(form)
}
