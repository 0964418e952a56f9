/** What the handlers work on: texts of the size that real requests have. */

const SENTENCES = [
  'A machine starts once, waits, and is copied for every request that comes.',
  'Nobody sees what another wrote, for the copy is thrown away when the answer is there.',
  'The Größe of a page is four kilobytes, and a small handler touches some twenty of them.',
  'Whoever measures twice finds two numbers; the median of many is worth more than the best of three.',
  'Übung macht den Meister, as they say, and 練習 does too.',
]

/** Twenty paragraphs of plain prose. */
export const PARAGRAPHS: readonly string[] = Array.from(
  { length: 20 },
  (_, index) =>
    Array.from(
      { length: 4 },
      (_, at) => SENTENCES[(index * 3 + at * 2) % SENTENCES.length],
    ).join(' '),
)

/** An article in Markdown, some 8 KB. */
export const ARTICLE = PARAGRAPHS.map((text, index) =>
  [
    `${'#'.repeat(1 + index % 3)} Chapter ${index + 1}`,
    text.replace('machine', '**machine**').replace(
      'page',
      '[page](https://example.com/page "a page")',
    ),
    '- one *item*\n- another `item`\n  1. nested\n  2. again',
    index % 4 === 0 ? '```ts\nconst answer: number = 42 // why not\n```' : '> quoted ' + SENTENCES[index % 5],
    index % 5 === 0 ? '| name | count |\n| ---- | ----: |\n| Ann | 1 |\n| Jörg | 22 |' : '---',
  ].join('\n\n')
).join('\n\n')

/** A page of HTML, some 6 KB. */
export const PAGE =
  `<!doctype html><html lang="de"><head><title>Seite über alles</title><style>p { color: red }</style></head>
<body><script>alert('no')</script><h1>Überschrift</h1>
${
    PARAGRAPHS.slice(0, 10).map((text, index) =>
      `<h2 id="c${index}">Chapter ${index}</h2><p class="text" onclick="x()">${text} <a href="/chapter/${index}?a=1&amp;b=2">more</a></p>`
    ).join('\n')
  }
<table>${
    Array.from({ length: 15 }, (_, row) => `<tr><td>${row}</td><td>value &lt;${row * row}&gt;</td></tr>`)
      .join('')
  }</table></body></html>`

/** A style sheet with nested rules, some 3 KB. */
export const STYLES = Array.from({ length: 20 }, (_, index) =>
  `.card-${index} {
  color: #${(index * 12345 + 0x102030).toString(16).slice(0, 6)};
  margin: 0 auto ${index}px;
  &:hover, &:focus-visible { text-decoration: underline; transform: translateX(${index}px) }
  .title { font: bold 1.${index}rem/1.5 'Größe', sans-serif }
  @media (max-width: ${600 + index}px) { display: none }
}`).join('\n')

/** A program in TypeScript, some 3 KB. */
export const PROGRAM = Array.from(
  { length: 12 },
  (_, index) =>
    `/** Shape ${index}. */
export interface Shape${index}<T extends object = object> { readonly name: string; area?(scale: number): Promise<T> }

export class Circle${index} implements Shape${index} {
  readonly #radius: number = ${index}
  constructor(public readonly name: string) {}
  get size(): number { return this.#radius ** 2 * Math.PI }
  static from(texts: readonly string[]): Circle${index}[] {
    return texts.filter((text) => /^[a-zß]+\\d?$/u.test(text)).map((text) => new Circle${index}(\`\${text}-${index}\`))
  }
}`,
).join('\n\n')

/** A script, some 4 KB. */
export const SCRIPT = Array.from({ length: 12 }, (_, index) => `
/* part ${index} */
export async function load${index}(url, { retries = ${index}, ...options } = {}) {
  const unused = 'größe'
  for (let attempt = 0; attempt <= retries; attempt++) {
    try {
      const response = await fetch(url, { ...options, headers: { 'x-attempt': String(attempt) } })
      if (!response.ok) throw new Error(\`status \${response.status}\`)
      return await response.json()
    } catch (error) {
      if (attempt === retries) throw error
      await new Promise((resolve) => setTimeout(resolve, 2 ** attempt * 100))
    }
  }
  return false && unused ? null : undefined
}`).join('\n')

/** Comma-separated values, 200 rows. */
export const TABLE = 'id,name,amount,note\n' +
  Array.from(
    { length: 200 },
    (_, id) => `${id},"Person ${id}, ${id % 3 ? 'Köln' : 'Paris'}",${(id * 7.25).toFixed(2)},`,
  )
    .join('\n')

/** A person of a list. */
export interface Person {
  name: string
  age: number
  address: { city: string; zip: string }
  tags: string[]
}

const NAMES = [
  'Ann',
  'Bob',
  'Zoë',
  'Jürgen',
  'Mira <b>',
  "O'Neill",
  'Søren',
  '李雷',
  'Ola',
  'Ben',
]

/** Thirty people. */
export const PEOPLE: Person[] = Array.from({ length: 30 }, (_, index) => ({
  name: NAMES[index % NAMES.length] + (index < NAMES.length ? '' : ` ${index}`),
  age: 7 + (index * 13) % 60,
  address: {
    city: ['Köln', 'Paris', 'Oslo', 'São Paulo'][index % 4],
    zip: String(10_000 + index * 37),
  },
  tags: ['new', 'vip', 'größer'].slice(0, index % 4),
}))

/** A document of nested data. */
export const DOCUMENT = {
  title: 'Übersicht',
  version: 3,
  ratio: 0.25,
  open: true,
  none: null,
  people: PEOPLE,
  texts: Object.fromEntries(
    PARAGRAPHS.slice(0, 5).map((text, index) => [`part ${index}`, text]),
  ),
}

/** An Atom feed, some 4 KB. */
export const FEED =
  `<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Größe</title>${
    PARAGRAPHS.slice(0, 12).map((text, index) =>
      `<entry id="e${index}"><title>Entry ${index} &amp; more</title><link href="https://example.com/${index}" rel="self"/><summary>${text}</summary><updated>2026-01-0${
        1 + index % 9
      }T00:00:00Z</updated></entry>`
    ).join('')
  }</feed>`

/** The messages of an error and of its causes. */
export function toTexts(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)]
  const causes = error instanceof AggregateError
    ? error.errors
    : error.cause === undefined
    ? []
    : [error.cause]
  return [error.message, ...causes.flatMap(toTexts)]
}
