import type { Context } from '@mayfly/mayfly'
import * as cheerio from 'cheerio'
import { PAGE } from '~/texts.ts'

export const inputs = [
  { text: PAGE },
  { text: '<table><tr><td>1<td>zwei &amp; drei</table><a href="/a">a</a>' },
]

export async function POST(ctx: Context) {
  const $ = cheerio.load(await ctx.get.text())
  $('script, style').remove()
  const links = $('a').map((_, element) => ({
    href: $(element).attr('href'),
    text: $(element).text().trim(),
  })).get()
  const rows = $('tr').map((
    _,
    row,
  ) => [$(row).find('td').map((_, cell) => $(cell).text().trim()).get()]).get()
  $('a').addClass('seen').attr('target', '_blank')
  return ctx.send.json({
    title: $('title').text(),
    links,
    rows,
    headings: $('h1, h2').length,
    html: $('body').html(),
  })
}
