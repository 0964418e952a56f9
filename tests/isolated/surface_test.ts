/** What the runtime core lacks says so, whoever is told; what fails in either runtime names the lines of the user. */
import type { IsolateMetadata } from '@mayfly/mayfly'
import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { unescape } from '@std/html'
import { openDevelopment, openInEach, RUNTIMES, type Site, testIn } from './fixture.ts'

const sites = openInEach((runtime) => {
  Deno.env.set('MAYFLY_SURFACE', 'the value')
  return openDevelopment('surface', { isolate: { vms: 1, runtime } })
})
Deno.test.afterAll(() => Deno.env.delete('MAYFLY_SURFACE'))

/** What is used, and its name in the error; those that are objects are not defined, for `typeof` to say so. */
const MISSING = {
  fetch: 'fetch',
  websocket: 'WebSocket',
  worker: 'Worker',
  pipe: 'TransformStream',
  byte_stream: 'ReadableStream',
  compression: 'CompressionStream',
  key: 'crypto.subtle.generateKey',
  import_key: 'crypto.subtle.importKey',
  wait: 'Atomics.waitAsync',
  import_node: 'node:fs',
  import_url: 'https://localhost/x.js',
}
/** Fails its request whoever catches it. */
const REFUSED = { format: 'Intl.NumberFormat' }
const UNDEFINED = {
  wasm: 'WebAssembly',
  storage: 'localStorage',
  deno: 'Deno',
  process: 'process',
  buffer: 'Buffer',
  require: 'require',
}

for (const [what, name] of Object.entries(MISSING)) {
  testIn('core')(`${what} throws an error that names it, the runtime and the other one`, async () => {
    const { error } = JSON.parse((await sites.core.ask(`/use?what=${what}`, { method: 'POST' })).text)
    for (const word of [name, "runtime 'core'", "runtime: 'deno'"]) assertStringIncludes(error, word)
  })
}

for (const [what, name] of Object.entries({ ...MISSING, ...REFUSED, ...UNDEFINED })) {
  testIn('core')(`the page and the log of ${what} name it, the runtime and the other one`, async () => {
    const { status, stack } = await stackOf(sites.core, `/use?what=${what}`)
    assertEquals(status, 500)
    // A module that is not there throws by itself: its stack does not lead to who imported it.
    const place = /^import_(?:node|url)$/.test(what) ? [] : ['use.ts:']
    for (const word of [name, "runtime 'core'", "runtime: 'deno'", ...place]) {
      assertStringIncludes(stack, word)
    }
  })
}

testIn('core')('names that are objects elsewhere are not defined, and the host is out of reach', async () => {
  const names: string[] = JSON.parse((await sites.core.ask('/use', { method: 'PUT' })).text)
  for (const name of [...Object.values(UNDEFINED), 'global', 'gc', 'window']) {
    assert(!names.includes(name), `${name} is there`)
  }
  assertEquals(names.filter((name) => /^_|mayfly|v8x|bootstrap/i.test(name)), [])
})

/** What `Deno` is in the runtime core where a program has variables. */
const OF_DENO: Readonly<Record<string, string | RegExp>> = {
  get: 'the value',
  has: 'false',
  all: '{"MAYFLY_SURFACE":"the value"}',
  set: /Deno\.env\.set is not there in the runtime 'core'.* runtime: 'deno'/,
  delete: /Deno\.env\.delete is not there in the runtime 'core'.* runtime: 'deno'/,
  read: /Deno\.readTextFileSync is not there in the runtime 'core'.* runtime: 'deno'/,
  serve: /Deno\.serve is not there in the runtime 'core'.* runtime: 'deno'/,
}

testIn('core')(
  'a program with variables has of Deno its variables, and what says that it is not there',
  async () => {
    for (const [what, wanted] of Object.entries(OF_DENO)) {
      const path = `/variables?what=${what}`
      if (typeof wanted === 'string') assertEquals((await sites.core.ask(path)).text, wanted)
      else assertMatch((await stackOf(sites.core, path)).stack, wanted)
    }
  },
)

testIn('core')('a refusal of Intl is the answer, whoever caught it and whatever was made of it', async () => {
  for (const caught of ['sync', 'async', 'stream', 'wrapped', 'status']) {
    const { status, stack } = await stackOf(sites.core, `/intl?caught=${caught}`)
    assertEquals(status, 500, caught)
    for (const word of ['Intl.PluralRules', "runtime 'core'", "runtime: 'deno'", 'intl.ts:']) {
      assertStringIncludes(stack, word)
    }
  }
  assertEquals((await sites.core.ask('/intl?caught=no')).text, '{"timeZone":"UTC","locale":"en-US"}')
})

testIn('core')('a module that goes on without Intl when it loads does not load', async () => {
  const { status, stack } = await stackOf(sites.core, '/intl_at_load')
  assertEquals(status, 500)
  assertStringIncludes(stack, 'Intl.NumberFormat is not there')
})

testIn('core')('what a program uses and core has not is told at the start, once for each file', () => {
  const told = sites.core.events.filter(({ kind }) => kind === 'isolate:missing')
  const about = told.map(({ metadata }) =>
    (metadata as IsolateMetadata).missing!.map(({ global, file, line }) =>
      `${file.slice(file.lastIndexOf('/') + 1)}:${line} ${global}`
    ).join()
  )
  assertEquals(about.sort(), [
    'intl.ts:9 Intl',
    'intl_at_load.ts:9 Intl',
    'use.ts:19 Intl,use.ts:20 WebAssembly',
  ])
  return Promise.resolve()
})

/** Where each way to fail begins, by its text in the sources. */
const PLACES = {
  call: ['fail_helper.ts', 'throw new Error'],
  await: ['fail_helper.ts', 'throw new Error'],
  timer: ['fail_helper.ts', 'throw new Error'],
  stream: ['fail_helper.ts', 'throw new Error'],
  engine: ['fail_helper.ts', 'null as unknown'],
}

for (const runtime of RUNTIMES) {
  for (const [way, [file, words]] of Object.entries(PLACES)) {
    testIn(runtime)(
      `an error by ${way} names the lines of the user's files, and none of the guest's`,
      async () => {
        const { status, stack } = await stackOf(sites[runtime], `/fail?in=${way}`)
        assertEquals(status, 500)
        const lines = Deno.readTextFileSync(new URL(file, import.meta.url)).split('\n')
        const line = lines.findIndex((text) => text.includes(words)) + 1
        const [first] = /at .*/.exec(stack)!
        assertStringIncludes(first, `${file}:${line}:`)
        for (const word of ['program.js', 'runtime.js', 'surface.js', 'src/isolate/guest']) {
          assert(!stack.includes(word), stack)
        }
      },
    )
  }
}

for (const runtime of RUNTIMES) {
  testIn(runtime)('a forged stack shows no line of any file, and the next request is right', async () => {
    const page = await sites[runtime].ask('/fail?in=forged', { headers: { accept: 'text/html' } })
    assertEquals([page.status, page.text.includes('<mark>')], [500, false], page.text)
    assertStringIncludes(page.text, 'file:///etc/passwd:1:1')
    const next = await sites[runtime].ask('/fail?in=call', { headers: { accept: 'text/html' } })
    assertStringIncludes(next.text, '<mark>')
  })
}

/** What the page of an error in development shows of it, which is what the log gets. */
async function stackOf(site: Site, path: string): Promise<{ status: number; stack: string }> {
  const { status, text } = await site.ask(path, { headers: { accept: 'text/html' } })
  const [stack = ''] = [...text.matchAll(/<pre>([^]*?)<\/pre>/g)].map(([, each]) => each).slice(-1)
  return { status, stack: unescape(stack) }
}
