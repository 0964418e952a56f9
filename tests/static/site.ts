import { assert, assertEquals } from '@std/assert'
import type { Context } from '../../src/context/types.ts'
import { createStaticMount } from '../../src/static/mount.ts'
import type { StaticSource } from '../../src/static/options.ts'
import { serveStatic } from '../../src/static/serve_static.ts'

/** When every file was changed. */
export const TIME = new Date('2026-01-02T03:04:05.678Z')
export const HTTP_TIME = 'Fri, 02 Jan 2026 03:04:05 GMT'
/** Stands for a context, which only a function as source would look at. */
export const ctx = {} as Context
export const BIG = Uint8Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 8)) & 255)

/** The folder under test, mounted at /files. */
export interface Site {
  root: string
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Response | undefined>
  missing: [path: string, reason: string][]
}

/** A folder of files for one test, removed after it; checks that no file is left open. */
export async function withSite(
  source: (root: string) => StaticSource,
  body: (site: Site) => Promise<void>,
): Promise<void> {
  const base = await Deno.realPath(await Deno.makeTempDir())
  const root = `${base}/public`
  await Deno.mkdir(`${root}/folder/bare`, { recursive: true })
  await Deno.mkdir(`${root}/.well-known`)
  await Deno.mkdir(`${root}/.git`)
  const files: Record<string, string | Uint8Array> = {
    'hello.txt': 'hello, world',
    'empty.css': '',
    'big.bin': BIG,
    'page.html': '<p>page</p>',
    'folder/index.html': '<p>index</p>',
    'folder/bare/x.json': '{}',
    'with space & ü.txt': 'space',
    '100%.txt': 'percent',
    '.env': 'SECRET',
    '.git/config': 'SECRET',
    '.well-known/security.txt': 'contact',
    '.well-known/.secret': 'SECRET',
    'app.js': 'let plain = true',
    'app.js.br': 'as brotli',
    'app.js.gz': 'as gzip, longer',
    'old.js': 'new text',
    'old.js.br': 'stale',
    '../outside.txt': 'SECRET',
  }
  for (const [name, data] of Object.entries(files)) {
    const path = `${root}/${name}`
    await Deno.writeFile(path, typeof data === 'string' ? new TextEncoder().encode(data) : data)
    await Deno.utime(path, TIME, TIME)
  }
  await Deno.utime(`${root}/old.js.br`, TIME, new Date(TIME.getTime() - 5000))
  await Deno.symlink(`${base}/outside.txt`, `${root}/escape.txt`)
  await Deno.symlink(base, `${root}/escape`)
  await Deno.symlink(`${root}/hello.txt`, `${root}/inside.txt`)
  await Deno.symlink(`${root}/.env`, `${root}/env.txt`)
  await Deno.symlink(`${base}/outside.txt`, `${root}/page.html.br`)
  await Deno.symlink('loop', `${root}/loop`)
  const before = openFiles(base)
  const mount = createStaticMount('/files', source(root))
  const missing: Site['missing'] = []
  try {
    await body({
      root,
      missing,
      get: (path, headers = {}, method = 'GET') =>
        serveStatic(
          [mount],
          new Request(`http://host/files${encodeURI(path)}?q=1`, { method, headers }),
          `/files${path}`,
          ctx,
          (path, reason) => missing.push([path, reason]),
        ),
    })
    for (let i = 0; i < 50 && openFiles(base) > before; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    assertEquals(openFiles(base), before)
  } finally {
    await Deno.remove(base, { recursive: true })
  }
}

/** Descriptors of files below the folder: other test files run in this process too. */
function openFiles(folder: string): number {
  if (Deno.build.os !== 'linux') return 0
  let count = 0
  for (const { name } of Deno.readDirSync('/proc/self/fd')) {
    try {
      if (Deno.readLinkSync(`/proc/self/fd/${name}`).startsWith(`${folder}/`)) count++
    } catch {
      // It was the listing's own descriptor.
    }
  }
  return count
}

/** The folder with default options. */
export function plain(root: string): StaticSource {
  return root
}

/** The body of a response that must be there. */
export async function textOf(response: Response | undefined): Promise<string> {
  assert(response !== undefined)
  return await response.text()
}

/** The tag of hello.txt. */
export const TAG = `W/"c-${TIME.getTime().toString(16)}"`
