/**
 * The same answers from `Deno.serve` with nothing around it: one look into a Map, pages as template literals. What a framework
 * is measured by. On PORT or 8000.
 */
import { ITEMS, NAME, VISITOR, type Visitor } from '../work.ts'
import { escape } from './escape.ts'

const JSON_INIT = { headers: { 'content-type': 'application/json' } }
const HTML_INIT = { headers: { 'content-type': 'text/html; charset=utf-8' } }

function json(data: unknown): Response {
  return new Response(JSON.stringify(data), JSON_INIT)
}

function html(page: string): Response {
  return new Response(page, HTML_INIT)
}

function eachMeta(items: readonly number[]): string {
  let page = ''
  const { length } = items
  for (let i = 0; i < length; i++) {
    page += `${i === 0 ? '[' : ''}${i}/${length}=${items[i]}${i === length - 1 ? ']' : ' '}`
  }
  return page + '\n'
}

function expression(visitor: Visitor | undefined): string {
  const may = (visitor?.role == 'owner' ? visitor?.active : false) ? 'may' : 'may not'
  return `<p>${escape(visitor?.name ?? 'Nobody')} ${may} edit ${1 + 2 * 3} pages</p>\n`
}

const routes = new Map<string, () => Response>([
  ['/test', () => json({ hello: 'world!' })],
  ['/test-cpu', () => {
    let value = 0
    for (let i = 0; i < 50_000; i++) value += Math.sqrt(i)
    return json({ value })
  }],
  ['/test-view', () => html(`<p>Hello, ${escape(NAME)}, welcome to Mayfly!</p>\n`)],
  ['/test-view-each-meta', () => html(eachMeta(ITEMS))],
  ['/test-view-include', () => html(`<p>Hello, ${escape(NAME)}, from a partial</p>\n\n`)],
  ['/test-view-expr', () => html(expression(VISITOR))],
])

/** Answers by the path; no route here looks at query or method. */
export function fetch(request: Request): Response {
  const { url } = request
  const answer = routes.get(url.slice(url.indexOf('/', 8)))
  return answer === undefined ? new Response('Not Found\n', { status: 404 }) : answer()
}

if (import.meta.main) Deno.serve({ onListen: () => {}, port: Number(Deno.env.get('PORT') ?? 8000) }, fetch)
