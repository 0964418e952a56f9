import type { Context } from '@mayfly/mayfly'
import * as yaml from 'js-yaml'
import { DOCUMENT } from '~/texts.ts'

export const inputs = [
  { text: yaml.dump(DOCUMENT) },
  {
    text: 'a: &x [1, 2]\nb: *x\nc: |\n  größe\n  zwei\nd: 2001-12-14t21:59:43.10-05:00\n',
  },
  { text: 'a: [1' },
]

export async function POST(ctx: Context) {
  try {
    const value = yaml.load(await ctx.get.text())
    return ctx.send.json({
      value,
      text: yaml.dump(value, { sortKeys: true, flowLevel: 3 }),
    })
  } catch (error) {
    if (!(error instanceof yaml.YAMLException)) throw error
    return ctx.send.text(error.message, { status: 422 })
  }
}
