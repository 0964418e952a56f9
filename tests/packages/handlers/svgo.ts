import type { Context } from '@mayfly/mayfly'
import { optimize } from 'svgo/browser'

const SHAPES = Array.from(
  { length: 30 },
  (_, index) =>
    `<g transform="translate(${index}.000,0)"><path d="M 0 0 L 10.00001 ${index} L 20 20 Z" style="fill:#ff0000"/></g>`,
)

export const inputs = [
  {
    text: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 99 99"><title>Größe</title>${
      SHAPES.join('\n')
    }</svg>`,
  },
  {
    text:
      '<svg xmlns="http://www.w3.org/2000/svg"><!-- x --><rect width="10" height="10" fill="rgb(0,0,255)"/></svg>',
  },
]

export async function POST(ctx: Context) {
  const { data } = optimize(await ctx.get.text(), { multipass: true })
  return ctx.send.custom(data, { headers: { 'content-type': 'image/svg+xml' } })
}
