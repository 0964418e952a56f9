import type { Context } from '@mayfly/mayfly'
// @ts-types="@types/figlet"
import figlet from 'figlet'

export const inputs = [
  { path: '?text=Mayfly' },
  { path: '?text=Gr%C3%B6%C3%9Fe&font=Slant' },
  { path: '?text=x&font=No%20such%20font' },
]

/** Reads its fonts from files of the package. */
export function GET(ctx: Context) {
  const font = (ctx.get.query('font') ?? 'Standard') as figlet.Fonts
  try {
    return ctx.send.text(figlet.textSync(ctx.get.query('text')!, { font }))
  } catch (error) {
    return ctx.send.text((error as Error).message.split(':')[0], { status: 422 })
  }
}
