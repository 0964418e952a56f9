/** The same answers from Hono, written as its documentation does it. On PORT or 8000. */
import { Hono } from 'hono'
import { html, raw } from 'hono/html'
import { ITEMS, NAME, VISITOR, type Visitor } from '../work.ts'

const app = new Hono()

app.get('/test', (c) => c.json({ hello: 'world!' }))

app.get('/test-cpu', (c) => {
  let value = 0
  for (let i = 0; i < 50_000; i++) value += Math.sqrt(i)
  return c.json({ value })
})

app.get('/test-view', (c) => c.html(html`<p>Hello, ${NAME}, welcome to Mayfly!</p>${'\n'}`))

app.get('/test-view-each-meta', (c) => {
  const { length } = ITEMS
  const rows = ITEMS.map((item, i) =>
    `${i === 0 ? '[' : ''}${i}/${length}=${item}${i === length - 1 ? ']' : ' '}`
  )
  return c.html(html`${raw(rows.join(''))}${'\n'}`)
})

function Partial({ name }: { name: string }): ReturnType<typeof html> {
  return html`<p>Hello, ${name}, from a partial</p>${'\n'}`
}

app.get('/test-view-include', (c) => c.html(html`${Partial({ name: NAME })}${'\n'}`))

app.get('/test-view-expr', (c) => {
  const visitor: Visitor | undefined = VISITOR
  const may = (visitor?.role == 'owner' ? visitor?.active : false) ? 'may' : 'may not'
  return c.html(html`<p>${visitor?.name ?? 'Nobody'} ${may} edit ${1 + 2 * 3} pages</p>${'\n'}`)
})

export const { fetch } = app

if (import.meta.main) Deno.serve({ onListen: () => {}, port: Number(Deno.env.get('PORT') ?? 8000) }, fetch)
