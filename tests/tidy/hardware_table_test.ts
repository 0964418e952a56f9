import { assert, assertEquals } from '@std/assert'
import { join } from '@std/path'
import { findFiles, ROOT } from './source_tree.ts'

/** The table of what differs between kinds of KVM; its last column names the tests. */
const DOCUMENT = 'native/hwtest/README.md'
const HEADING = '## Three kinds of KVM'

Deno.test('every line of the table of hardware names tests or checks that exist', async () => {
  const sources: string[] = []
  for (const path of [...await findFiles('native', ['.rs']), 'native/hwtest/checks']) {
    sources.push(await Deno.readTextFile(join(ROOT, path)))
  }
  const all = sources.join('\n')
  const rows = readTable(await Deno.readTextFile(join(ROOT, DOCUMENT)))
  assert(rows.length >= 20, `${rows.length} lines, want the whole table`)
  const missing = rows.flatMap(({ what, evidence }) =>
    evidence.length === 0
      ? [`${what}: names no test`]
      : evidence.filter((name) => !exists(name, all)).map((name) => `${what}: ${name}`)
  )
  assertEquals(missing, [])
})

Deno.test('the check of the table sees a test that is gone', () => {
  assert(exists('is_there', '#[test]\n    fn is_there() {'))
  assert(!exists('is_there', '#[test]\n    fn is_there_no_more() {'))
  assert(exists('by its words', "check 'by its words' command"))
  assert(!exists('by other words', "check 'by its words' command"))
})

/** A name of one word is a function of Rust's; one of several is a check's, or what an assertion says. */
function exists(name: string, sources: string): boolean {
  if (name.includes(' ')) return sources.includes(name)
  return new RegExp(`#\\[test\\]\\s+fn ${name}\\(`).test(sources)
}

function readTable(text: string): { what: string; evidence: string[] }[] {
  const from = text.indexOf(HEADING)
  assert(from !== -1, `${DOCUMENT} has no heading ${HEADING}`)
  const section = text.slice(from + HEADING.length).split('\n## ')[0]
  const lines = section.split('\n').filter((line) => line.startsWith('|')).slice(2)
  return lines.map((line) => {
    const cells = line.split('|').slice(1, -1)
    assertEquals(cells.length, 5, line)
    return {
      what: cells[0].trim(),
      evidence: [...cells[4].matchAll(/`([^`]+)`/g)].map((match) => match[1]),
    }
  })
}
