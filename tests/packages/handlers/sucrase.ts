import type { Context } from '@mayfly/mayfly'
import { transform } from 'sucrase'
import { PROGRAM } from '~/texts.ts'

export const inputs = [
  { text: PROGRAM },
  { path: '?jsx=1', text: 'export const Größe = ({ n }: { n: number }) => <p title="ü">{n} <br/></p>' },
]

export async function POST(ctx: Context) {
  const { code } = transform(await ctx.get.text(), {
    transforms: ctx.get.query('jsx') === '1' ? ['typescript', 'jsx'] : ['typescript', 'imports'],
    production: true,
  })
  return ctx.send.text(code)
}
