/**
 * One case a file in golden/. Sections start with `-- name --` on a line: `template`, any number of `file: name.dve`, `data`
 * (JSON, optional), then `output` or `error` (`file:line:column reason`). The newline before a section is not part of it.
 */
import { assert, assertEquals, assertInstanceOf } from '@std/assert'
import { dirname, join } from '@std/path'
import { Engine, TemplateError } from '../../src/dve/mod.ts'

const FOLDER = new URL('./golden/', import.meta.url)
const FILTERS = {
  upper: (value: unknown) => String(value).toUpperCase(),
  money: (value: unknown) => `$${Number(value).toFixed(2)}`,
  wrap: (value: unknown) => `<i>${value}</i>`,
  kind: (value: unknown) => typeof value,
  isNothing: (value: unknown) => value === undefined || value === null,
  twice: (value: unknown) => Array.isArray(value) ? [...value, ...value] : [],
  boom: () => {
    throw new Error('boom')
  },
  later: () => Promise.resolve(1),
}

/** The sections of a case by their names. */
function readCase(text: string): Map<string, string> {
  const sections = new Map<string, string>()
  const parts = text.split(/^-- (.+) --\n/m)
  for (let i = 1; i < parts.length; i += 2) sections.set(parts[i], parts[i + 1].replace(/\n$/, ''))
  return sections
}

function describe(error: TemplateError, root: string): string {
  return `${error.file.slice(root.length + 1)}:${error.line}:${error.column} ${error.reason}`
}

/** Asserts that the error shows its place: the caret is below the column, and the excerpt is part of the line. */
function assertPlace(error: TemplateError, text: string): void {
  const line = text.split(/\r\n|\n|\r/)[error.line - 1]
  const column = error.excerpt.length < line.length ? line.indexOf(error.excerpt) : 0
  assertEquals(error.caret.length - 1 + column, error.column - 1)
  assert(error.message.endsWith(`${error.excerpt}\n${error.caret}`))
}

async function readStream(engine: Engine, data: object): Promise<string> {
  return await new Response(engine.stream('page', data, { chunkSize: 3 })).text()
}

async function runCase(root: string, sections: Map<string, string>): Promise<void> {
  const files = new Map([['page.dve', sections.get('template')!]])
  for (const [name, text] of sections) {
    if (name.startsWith('file: ')) files.set(name.slice('file: '.length), text)
  }
  for (const [name, text] of files) {
    await Deno.mkdir(dirname(join(root, name)), { recursive: true })
    await Deno.writeTextFile(join(root, name), text)
  }
  const data = JSON.parse(sections.get('data') ?? '{}')
  const engine = new Engine({ viewsDir: root, filters: FILTERS })
  const output = sections.get('output')
  if (output !== undefined) {
    assertEquals(await engine.render('page', data), output)
    assertEquals(engine.renderSync('page.dve', data), output)
    assertEquals(await readStream(engine, data), output)
    assertEquals(engine.check('page'), [])
    return
  }
  const want = sections.get('error')
  for (const render of [() => engine.render('page', data), () => readStream(engine, data)]) {
    const error = await render().catch((caught) => caught)
    assertInstanceOf(error, TemplateError)
    assertEquals(describe(error, root), want)
    assertPlace(error, files.get(error.file.slice(root.length + 1))!)
  }
}

Deno.test('every golden case renders, streams and checks as its file says', async (t) => {
  const names = [...Deno.readDirSync(FOLDER)].map((entry) => entry.name).sort()
  assert(names.length >= 150, `found ${names.length} cases`)
  const home = await Deno.makeTempDir()
  try {
    for (const name of names) {
      const sections = readCase(await Deno.readTextFile(new URL(name, FOLDER)))
      await t.step(name, () => runCase(join(home, name.replace('.txt', '')), sections))
    }
  } finally {
    await Deno.remove(home, { recursive: true })
  }
})
