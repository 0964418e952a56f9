import type { Context } from '@mayfly/mayfly'
// @ts-types="@types/jsdom"
import { JSDOM } from 'jsdom'

export const inputs = [
  { json: { html: '<ul><li class=a>eins<li>größe</ul>', select: 'li.a' } },
  { json: { html: '<p>x</p><script>document.body.append("from the script")</script>', select: 'body' } },
]

/** It reads its style sheet from a file of the package, and asks where another module of it lies. */
export async function POST(ctx: Context) {
  const { html, select } = await ctx.get.json<{ html: string; select: string }>()
  const { window } = new JSDOM(html, { runScripts: 'dangerously' })
  const found = [...window.document.querySelectorAll(select)]
  const style = window.getComputedStyle(found[0]!).display
  const answer = found.map(({ outerHTML }) => outerHTML)
  window.close()
  return ctx.send.json({ answer, style })
}
