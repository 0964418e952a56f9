/** Search in the documents: sections that have all the words. */
import { type Doc, plain, uniqueId } from './docs.ts'

/** A section that has all the words. */
export interface Hit {
  /** The address of the section. */
  readonly href: string
  readonly title: string
  readonly heading: string
  /** Text around the first word, cut into pieces; every second piece is one of the words. */
  readonly excerpt: readonly { readonly text: string; readonly isWord: boolean }[]
}

interface Section {
  readonly heading: string
  readonly id: string
  readonly text: string
}

const MOST_HITS = 30
const MOST_WORDS = 8
const BEFORE = 60
const EXCERPT = 220

/** The best sections first; at most 30. Of no word there is none. */
export async function searchDocs(root: URL, docs: readonly Doc[], query: string): Promise<Hit[]> {
  const words = [...new Set(query.toLowerCase().split(/\s+/).filter((word) => word !== ''))].slice(
    0,
    MOST_WORDS,
  )
  if (words.length === 0) return []
  const found: { score: number; hit: Hit }[] = []
  for (const doc of docs) {
    for (const section of splitSections(await Deno.readTextFile(new URL(doc.path, root)))) {
      const score = rate(words, doc, section)
      if (score > 0) found.push({ score, hit: toHit(words, doc, section) })
    }
  }
  return found.toSorted((a, b) => b.score - a.score).slice(0, MOST_HITS).map(({ hit }) => hit)
}

/** Sections by heading; text before the first heading has none. */
function splitSections(source: string): Section[] {
  const ids = new Map<string, number>()
  const sections: { heading: string; id: string; lines: string[] }[] = [{ heading: '', id: '', lines: [] }]
  let isCode = false
  for (const line of source.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode
    const heading = isCode ? null : /^(#{1,6})\s+(.+)$/.exec(line)
    if (heading === null) sections[sections.length - 1].lines.push(line)
    else sections.push({ heading: plain(heading[2]), id: uniqueId(ids, heading[2]), lines: [] })
  }
  return sections.map(({ heading, id, lines }) => ({
    heading,
    id,
    text: plain(lines.join(' ').replace(/^[|\s:-]+|\s*\|[\s|:-]*/g, ' ').replace(/\s+/g, ' ')),
  }))
}

/** 0 where a word is missing; a word in the heading or title counts more than in the text. */
function rate(words: readonly string[], doc: Doc, { heading, text }: Section): number {
  const [title, head, body] = [doc.title, heading, text].map((part) => part.toLowerCase())
  let score = 0
  for (const word of words) {
    const times = Math.min(5, body.split(word).length - 1)
    const own = (head.includes(word) ? 10 : 0) + times
    if (own === 0) return 0
    score += own + (title.includes(word) ? 3 : 0)
  }
  return score
}

function toHit(words: readonly string[], doc: Doc, { heading, id, text }: Section): Hit {
  const lower = text.toLowerCase()
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0)
  const from = Math.max(0, (places.length === 0 ? 0 : Math.min(...places)) - BEFORE)
  const excerpt = `${from > 0 ? '… ' : ''}${text.slice(from, from + EXCERPT)}${
    from + EXCERPT < text.length ? ' …' : ''
  }`
  const pattern = new RegExp(`(${words.map((word) => RegExp.escape(word)).join('|')})`, 'gi')
  return {
    href: `/docs/${doc.slug}${id === '' ? '' : `#${id}`}`,
    title: doc.title,
    heading,
    excerpt: excerpt.split(pattern).map((text, index) => ({ text, isWord: index % 2 === 1 })),
  }
}
