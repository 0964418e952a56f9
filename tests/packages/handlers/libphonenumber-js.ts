import type { Context } from '@mayfly/mayfly'
import { AsYouType, findNumbers, parsePhoneNumberFromString } from 'libphonenumber-js'

export const inputs = [
  { json: { number: '0221 / 123456', country: 'DE' } },
  { json: { number: '+1 (213) 373-4253', country: 'US' } },
  { json: { number: 'kein Anschluss', country: 'AT' } },
]

export async function POST(ctx: Context) {
  const { number, country } = await ctx.get.json<{ number: string; country: 'DE' | 'US' | 'AT' }>()
  const phone = parsePhoneNumberFromString(number, country)
  return ctx.send.json({
    valid: phone?.isValid() ?? false,
    international: phone?.formatInternational(),
    uri: phone?.getURI(),
    typed: new AsYouType(country).input(number),
    found: findNumbers(`Tel: ${number}, Größe 1`, country).length,
  })
}
