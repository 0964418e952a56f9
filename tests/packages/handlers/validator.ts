import type { Context } from '@mayfly/mayfly'
import validator from 'validator'

export const inputs = [
  {
    form: {
      mail: ' Jörg@Example.COM ',
      url: 'https://example.com/ü?x=1',
      iban: 'DE89370400440532013000',
      card: '4111111111111111',
    },
  },
  { form: { mail: 'no', url: 'javascript:1', iban: 'DE00', card: '1234' } },
]

export async function POST(ctx: Context) {
  const form = Object.fromEntries(await ctx.get.formData()) as Record<string, string>
  return ctx.send.json({
    mail: validator.isEmail(form.mail.trim(), { allow_utf8_local_part: true }) &&
      validator.normalizeEmail(form.mail.trim()),
    url: validator.isURL(form.url, { protocols: ['https'] }),
    iban: validator.isIBAN(form.iban),
    card: validator.isCreditCard(form.card),
    escaped: validator.escape(`<${form.url}>`),
    date: validator.toDate('2026-02-03T04:05:06Z')?.toISOString(),
  })
}
