import type { Context } from '@mayfly/mayfly'
import chroma from 'chroma-js'

export const inputs = [
  { path: '?from=hotpink&to=%23004488&steps=12' },
  { path: '?from=hsl(120,50%25,50%25)&to=black&steps=5' },
]

export function GET(ctx: Context) {
  const { from, to, steps } = ctx.get.query()
  return ctx.send.json({
    scale: chroma.scale([from, to]).mode('lab').colors(Number(steps)),
    contrast: chroma.contrast(from, to).toFixed(4),
    hsl: chroma(from).hsl().map((part: number) => part.toFixed(3)),
    darker: chroma(from).darken(2).saturate().hex(),
    distance: chroma.deltaE(from, to).toFixed(4),
  })
}
