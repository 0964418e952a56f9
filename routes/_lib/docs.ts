/** The Markdown pages that live beside the code, as pages of the site. */
import { escape } from '@std/html'
import { Marked, type Tokens } from 'marked'
import { highlight, languageOf } from './highlight.ts'

/** One document. `slug` is its address below /docs, `path` its file below the project's folder. */
export interface Doc {
  readonly slug: string
  readonly path: string
  readonly title: string
  /** The section that it belongs to. */
  readonly group: string
}

const TOP = ['README.md', 'ARCHITECTURE.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
/** Folders whose pages are documents, in the order of the shelves. */
const FOLDERS = ['docs/', 'src/', 'native/', 'benchmark/', 'docs/decisions/']
const SKIPPED = new Set(['target', 'node_modules', 'decisions'])
const DEPTH = 6

/** Every document of the project, section by section: those at the top, then those of the folders, sorted. */
export async function listDocs(root: URL): Promise<Doc[]> {
  const paths: string[] = []
  for (const path of TOP) if (await isFile(new URL(path, root))) paths.push(path)
  for (const folder of FOLDERS) await collect(root, folder, paths, DEPTH)
  const docs = await Promise.all(paths.map((path) => describe(root, path)))
  return groupDocs(docs).flatMap((group) => group.docs)
}

/** A heading of a document, below its title. */
export interface Heading {
  readonly id: string
  /** Without marks. */
  readonly text: string
  readonly depth: number
}

/** A document as HTML. Raw HTML in it is shown as text, and its links lead to the site's own pages. */
export async function renderDoc(
  root: URL,
  doc: Doc,
  docs: readonly Doc[],
): Promise<{ html: string; headings: Heading[] }> {
  const source = await Deno.readTextFile(new URL(doc.path, root))
  const ids = new Map<string, number>()
  const headings: Heading[] = []
  const marked = new Marked({
    gfm: true,
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escape(text.replace(/<!--[^]*?-->/g, '')),
      heading({ tokens, depth, text }: Tokens.Heading) {
        const id = uniqueId(ids, text)
        if (depth === 2 || depth === 3) headings.push({ id, text: plain(text), depth })
        return `<h${depth} id="${escape(id)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      code: ({ text, lang }: Tokens.Code) =>
        `<pre tabindex="0"><code>${
          highlight(text, languageOf(`.${(lang ?? '').split(/[\s,]/)[0]}`))
        }</code></pre>\n`,
      link({ href, title, tokens }: Tokens.Link) {
        const target = toTarget(href, doc, docs)
        const label = this.parser.parseInline(tokens)
        if (target === undefined) return label
        return `<a href="${escape(target)}"${title ? ` title="${escape(title)}"` : ''}>${label}</a>`
      },
      image({ href, text }: Tokens.Image) {
        const name = toChart(href, doc)
        if (name === undefined) return escape(text)
        return `<img src="/charts/${escape(name)}" alt="${escape(text)}" loading="lazy">`
      },
      table(token: Tokens.Table) {
        const row = (cells: readonly Tokens.TableCell[], tag: string) =>
          `<tr>${
            cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')
          }</tr>`
        const body = token.rows.map((cells) => row(cells, 'td')).join('')
        return `<div class="scroll" tabindex="0" role="region" aria-label="Table"><table><thead>${
          row(token.header, 'th')
        }</thead><tbody>${body}</tbody></table></div>\n`
      },
    },
  })
  return { html: await marked.parse(source), headings }
}

/** A line of Markdown without its marks. */
export function plain(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*_]/g, '').trim()
}

/** Where a link of a document leads: a page of the docs, a place on the page, the web, or nowhere on this site. */
function toTarget(href: string, doc: Doc, docs: readonly Doc[]): string | undefined {
  if (href.startsWith('#')) return href
  if (/^https?:\/\//.test(href)) return href
  if (/^[a-z][a-z+.-]*:/i.test(href)) return undefined
  const base = new URL(doc.path, 'file:///')
  const url = URL.parse(href, base)
  const path = url === null ? '' : decodeURIComponent(url.pathname).slice(1)
  const found = docs.find((other) => other.path === path)
  return found === undefined ? undefined : `/docs/${found.slug}${url?.hash ?? ''}`
}

/** The file name of a chart of the benchmark; other images are not shown. */
function toChart(href: string, doc: Doc): string | undefined {
  const path = URL.parse(href, new URL(doc.path, 'file:///'))
  return path === null ? undefined : /^file:\/\/\/benchmark\/results\/([\w-]+\.svg)$/.exec(path.href)?.[1]
}

/** The id of a heading, another one for each heading of the same text. */
export function uniqueId(ids: Map<string, number>, text: string): string {
  const base = text.toLowerCase().replace(/[^\p{L}\p{N} _-]+/gu, '').trim().replace(/ /g, '-')
  const seen = ids.get(base) ?? 0
  ids.set(base, seen + 1)
  return seen === 0 ? base : `${base}-${seen}`
}

async function collect(root: URL, folder: string, paths: string[], depth: number): Promise<void> {
  const entries: Deno.DirEntry[] = []
  try {
    for await (const entry of Deno.readDir(new URL(folder, root))) entries.push(entry)
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error
  }
  entries.sort((a, b) => a.name < b.name ? -1 : 1)
  for (const entry of entries) {
    if (entry.isFile && entry.name.endsWith('.md')) paths.push(folder + entry.name)
    if (entry.isDirectory && depth > 0 && !SKIPPED.has(entry.name)) {
      await collect(root, `${folder}${entry.name}/`, paths, depth - 1)
    }
  }
}

async function describe(root: URL, path: string): Promise<Doc> {
  const source = await Deno.readTextFile(new URL(path, root))
  const heading = /^#\s+(.+)$/m.exec(source)?.[1]
  return {
    slug: path.replace(/\.md$/, '').replace(/^(?:src|docs)\//, '').toLowerCase(),
    path,
    title: heading === undefined ? path : plain(heading),
    group: groupOf(path),
  }
}

/** The section of a document, by its place in the project. */
function groupOf(path: string): string {
  const [top, room, name] = path.split('/')
  switch (top) {
    case 'src':
      return name === 'README.md' ? 'The parts' : room[0].toUpperCase() + room.slice(1)
    case 'docs':
      return room === 'decisions' ? 'Decisions' : 'Guides'
    case 'native':
      return 'Virtual machines'
    case 'benchmark':
      return 'Measurements'
    default:
      return 'The project'
  }
}

async function isFile(url: URL): Promise<boolean> {
  try {
    return (await Deno.stat(url)).isFile
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false
    throw error
  }
}

/** Documents by section, in order. */
export function groupDocs(docs: readonly Doc[]): { name: string; docs: Doc[] }[] {
  const groups = new Map<string, Doc[]>()
  for (const doc of docs) groups.set(doc.group, [...groups.get(doc.group) ?? [], doc])
  return [...groups].map(([name, docs]) => ({ name, docs }))
}
