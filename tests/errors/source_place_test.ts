/** The page of development shows lines of the project's own sources, whatever a stack or a message says. */
import { assertEquals, assertStringIncludes } from '@std/assert'
import { toFileUrl } from '@std/path'
import { renderFailure } from '../../src/errors/render.ts'
import { readExcerpt } from '../../src/errors/source_excerpt.ts'
import { findSourcePlace, setSourcePlace } from '../../src/errors/source_place.ts'

const SECRET = 'token=do-not-show'

/** A project with sources, secrets, links out of it, and a file beside it. */
async function withProject(run: (project: string, outside: string) => Promise<void>): Promise<void> {
  const folder = await Deno.realPath(await Deno.makeTempDir())
  const project = `${folder}/project`
  try {
    await Deno.mkdir(`${project}/node_modules/dep`, { recursive: true })
    await Deno.mkdir(`${project}/.git`)
    const source = 'one\ntwo\nthrow here\nfour\n'
    for (const name of ['own.ts', 'own.jsx', 'node_modules/dep/index.js', '.git/hook.js']) {
      await Deno.writeTextFile(`${project}/${name}`, source)
    }
    for (const name of ['.env', 'secrets.json', 'key.pem']) {
      await Deno.writeTextFile(`${project}/${name}`, `${SECRET}\n`.repeat(9))
    }
    await Deno.writeTextFile(`${folder}/outside.ts`, `${SECRET}\n`.repeat(9))
    await Deno.symlink(`${folder}/outside.ts`, `${project}/link.ts`)
    await Deno.symlink(`${project}/.env`, `${project}/env.ts`)
    await Deno.mkdir(`${project}/folder.ts`)
    await run(project, folder)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

function thrownAt(...files: string[]): Error {
  const error = new Error('broken')
  error.stack = ['Error: broken', ...files.map((file) => `    at f (${file}:3:1)`)].join('\n')
  return error
}

async function pageOf(error: Error, project: string): Promise<string> {
  return await (await renderFailure(new Headers(), error, 500, { project })).text()
}

Deno.test('a place is the innermost frame in a source of the project itself', async () => {
  await withProject(async (project, outside) => {
    const own = toFileUrl(`${project}/own.ts`).href
    const others = [
      '/etc/shadow',
      '/dev/zero',
      '/dev/zero.ts',
      '/proc/self/environ',
      `${outside}/outside.ts`,
      ...['link.ts', 'env.ts', 'folder.ts', 'missing.ts', '.env', 'secrets.json', 'key.pem', '.git/hook.js']
        .map((name) => `${project}/${name}`),
      `${project}/node_modules/dep/index.js`,
      `${project}/../outside.ts`,
    ].map((path) => `file://${path}`)
    for (const other of [...others, 'https://x.dev/own.ts', `file://host${project}/own.ts`, 'program.js']) {
      const error = thrownAt(other)
      assertEquals(await readPlace(error, project), undefined, other)
      assertEquals((await pageOf(error, project)).includes(SECRET), false, other)
    }
    assertEquals(await readPlace(thrownAt(...others, `${own}?version=1`), project), [own, 'throw here'])
    assertStringIncludes(await pageOf(thrownAt(own), project), '<mark>    3 | throw here')
  })
})

Deno.test('lines of a message that look like frames are none', async () => {
  await withProject(async (project) => {
    const [own, other] = ['own.ts', 'own.jsx'].map((name) => toFileUrl(`${project}/${name}`).href)
    const error = new Error(`asked for\n    at f (${other}:1:1)`)
    error.stack = `Error: ${error.message}\n    at f (${own}:3:1)`
    assertEquals(await readPlace(error, project), [own, 'throw here'])
  })
})

Deno.test('a place that was set is the only one, and null is none', async () => {
  await withProject(async (project) => {
    const [own, other] = ['own.ts', 'own.jsx'].map((name) => toFileUrl(`${project}/${name}`).href)
    const error = thrownAt(own)
    setSourcePlace(error, { file: other, line: 3, column: 1 })
    assertEquals(await readPlace(error, project), [other, 'throw here'])
    setSourcePlace(error, null)
    assertEquals(await readPlace(error, project), undefined)
  })
})

Deno.test('an excerpt is of a regular file of bounded size, and of a line that is there', async () => {
  await withProject(async (project) => {
    const url = (name: string) => toFileUrl(`${project}/${name}`).href
    await Deno.writeTextFile(`${project}/large.ts`, 'x\n'.repeat(600_000))
    await Deno.writeTextFile(`${project}/wide.ts`, 'x'.repeat(900_000))
    for (const file of [url('large.ts'), url('folder.ts'), 'file:///dev/zero', url('missing.ts'), 'no url']) {
      assertEquals(await readExcerpt({ file, line: 1, column: 1 }), undefined, file)
    }
    assertEquals(await readExcerpt({ file: url('own.ts'), line: 100, column: 1 }), undefined)
    const [line] = (await readExcerpt({ file: url('wide.ts'), line: 1, column: 1 }))!.lines
    assertEquals(line.length, 400)
  })
})

/** The file of an error's place and the line there. */
async function readPlace(error: Error, project: string): Promise<[file: string, text: string] | undefined> {
  const place = await findSourcePlace(error, project)
  if (place === undefined) return undefined
  const { firstLine, lines } = (await readExcerpt(place))!
  return [place.file, lines[place.line - firstLine]]
}
