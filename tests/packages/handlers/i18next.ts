import type { Context } from '@mayfly/mayfly'
import i18next from 'i18next'

export const inputs = [
  { path: '?lng=de&count=1&name=J%C3%BCrgen' },
  { path: '?lng=en&count=5&name=Ann' },
  { path: '?lng=pl&count=3&name=Ola' },
]

const i18n = i18next.createInstance()
await i18n.init({
  fallbackLng: 'en',
  resources: {
    en: {
      translation: {
        hi: 'Hello {{name}}',
        apple_one: '{{count}} apple',
        apple_other: '{{count}} apples',
      },
    },
    de: {
      translation: {
        hi: 'Hallo {{name}}',
        apple_one: '{{count}} Apfel',
        apple_other: '{{count}} Äpfel',
      },
    },
    pl: {
      translation: {
        apple_one: '{{count}} jabłko',
        apple_few: '{{count}} jabłka',
        apple_many: '{{count}} jabłek',
      },
    },
  },
})

export function GET(ctx: Context) {
  const { lng, count, name } = ctx.get.query()
  const t = i18n.getFixedT(lng)
  const lines = Array.from(
    { length: 100 },
    (_, index) => t('apple', { count: index + Number(count) }),
  )
  return ctx.send.json({ hi: t('hi', { name }), lines })
}
