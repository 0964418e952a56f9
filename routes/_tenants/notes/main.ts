/** A tenant that is a file router of its own: each file below `pages/` is a page, rendered by DVE inside the machine. */
import { Engine } from '../../../src/dve/mod.ts'
import { STYLE } from './style.ts'

const engine = new Engine()

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/style.css') return new Response(STYLE, { headers: { 'content-type': 'text/css' } })
    const name = pathname.endsWith('/') ? `${pathname.slice(1)}index` : pathname.slice(1)
    const page = await readPage(name)
    return await show(page ?? await readPage('404') ?? '', pathname, page === null ? 404 : 200)
  },
}

/** The text of a page; null for one that there is not. The bundle has all files that this pattern finds. */
async function readPage(name: string): Promise<string | null> {
  try {
    return (await import(`./pages/${name}.dve`, { with: { type: 'text' } })).default
  } catch {
    return null
  }
}

async function show(page: string, path: string, status: number): Promise<Response> {
  const { default: layout } = await import('./layout.dve', { with: { type: 'text' } })
  const main = await engine.renderString(page, { path })
  const html = await engine.renderString(layout, { path, main })
  return new Response(html, { status, headers: { 'content-type': 'text/html; charset=utf-8' } })
}
