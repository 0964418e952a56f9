/** Every TypeScript block in the docs is a module that type-checks, and every relative link leads somewhere. */
import { assert, assertEquals } from '@std/assert'
import { dirname, fromFileUrl, join, relative } from '@std/path'

const ROOT = fromFileUrl(new URL('../..', import.meta.url))
const SKIPPED = new Set(['node_modules', 'target', 'results', '.git'])

interface Block {
  /** `README.md:12`, the line of the fence. */
  readonly place: string
  readonly code: string
}

async function* findPages(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(folder)) {
    if (SKIPPED.has(entry.name)) continue
    const path = join(folder, entry.name)
    if (entry.isDirectory) yield* findPages(path)
    else if (entry.name.endsWith('.md')) yield path
  }
}

function findBlocks(page: string, text: string): Block[] {
  const blocks: Block[] = []
  let start = -1
  const lines = text.split('\n')
  lines.forEach((line, index) => {
    if (start === -1 && /^```(?:ts|tsx|typescript)\s*$/.test(line)) start = index
    else if (start !== -1 && line === '```') {
      blocks.push({
        place: `${relative(ROOT, page)}:${start + 1}`,
        code: lines.slice(start + 1, index).join('\n'),
      })
      start = -1
    }
  })
  return blocks
}

Deno.test('findBlocks finds the TypeScript blocks and no others', () => {
  const text = ['# a', '```ts', 'const a = 1', '```', '```sh', 'ls', '```', '```ts', 'b', '```'].join('\n')
  const blocks = findBlocks(join(ROOT, 'x.md'), text)
  assertEquals(blocks, [{ place: 'x.md:2', code: 'const a = 1' }, { place: 'x.md:8', code: 'b' }])
})

Deno.test('every TypeScript block in the docs type-checks', async () => {
  const folder = await Deno.makeTempDir()
  try {
    const blocks: Block[] = []
    for await (const page of findPages(ROOT)) blocks.push(...findBlocks(page, await Deno.readTextFile(page)))
    assert(blocks.length > 0, 'no block was found')
    const files: string[] = []
    for (const [index, { place, code }] of blocks.entries()) {
      const name = `${String(index).padStart(3, '0')}_${place.replace(/[^\w]+/g, '_')}.ts`
      files.push(join(folder, name))
      await Deno.writeTextFile(
        files[index],
        /^(?:import|export)\b/m.test(code) ? code : `${code}\nexport {}\n`,
      )
    }
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ['check', '--quiet', '--config', join(ROOT, 'deno.json'), ...files],
      env: { NO_COLOR: '1' },
    }).output()
    const report = files.reduce(
      (text, file, index) => text.replaceAll(file, `${blocks[index].place} (in the block)`),
      new TextDecoder().decode(stderr),
    )
    assert(success, report)
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})

Deno.test('every relative link in the docs leads to a file', async () => {
  const broken: string[] = []
  for await (const page of findPages(ROOT)) {
    const text = (await Deno.readTextFile(page)).replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '')
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(?:[a-z]+:|#)/i.test(target)) continue
      const path = join(dirname(page), decodeURIComponent(target.split('#')[0]))
      const found = await Deno.stat(path).then(() => true, () => false)
      if (!found) broken.push(`${relative(ROOT, page)} -> ${target}`)
    }
  }
  assertEquals(broken, [])
})
