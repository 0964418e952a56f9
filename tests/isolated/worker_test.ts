/** Isolated routes in worker processes: `onUnavailable: 'worker'` where no virtual machine can run. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { session } from '@mayfly/mayfly'
import { setEnvironment } from '../environment.ts'
import {
  createWorkerSite,
  errorsOf,
  NO_KVM,
  problemIn,
  toUnavailable,
  withServer,
  type WorkerSite,
} from './worker_site.ts'

async function withSite(site: WorkerSite, run: (site: WorkerSite) => Promise<void>): Promise<string[]> {
  return await errorsOf(async () => {
    try {
      await run(site)
    } finally {
      await site.close()
    }
  })
}

function kindsOf(site: WorkerSite, pattern: RegExp): string[] {
  return site.events.map(({ kind }) => kind).filter((kind) => pattern.test(kind))
}

Deno.test('the start says it once, with a hint, and every response carries the header', async () => {
  using _environment = setEnvironment({ DENO_ENV: 'development' })
  const site = createWorkerSite('context', {
    middleware: session({ cookieSecret: 'x'.repeat(32), secure: false }),
  })
  const told = await withSite(site, async ({ ask }) => {
    const HTML = { headers: { accept: 'text/html' } }
    const rows:
      readonly (readonly [path: string, status: number, text: string | null, init?: RequestInit])[] = [
        ['/show?what=text', 200, 'text'],
        ['/show?what=text', 200, '', { method: 'HEAD' }],
        ['/show?what=view', 200, '<p>Hello &lt;Ann&gt;, 2</p>\n'],
        ['/show?what=no_view', 500, null],
        ['/show?what=redirect', 303, ''],
        ['/show?what=stream', 200, 'one two three'],
        ['/show?what=headers', 200, '"asked"', { headers: { 'X-Asked': 'asked' } }],
        ['/show?what=state', 200, 'state'],
        ['/show?what=large', 200, 'x'.repeat(1_000_000)],
        ['/show?what=session', 200, '{"visits":0}'],
        ['/users/a%20b?x=1', 200, '{"id":"a b","query":{"x":"1"},"path":"/users/a%20b"}'],
        ['/users/none', 404, null],
        ['/users/7', 201, '{"id":"7","got":[1]}', {
          method: 'POST',
          body: '[1]',
          headers: { 'content-type': 'application/json' },
        }],
        ['/users/7', 413, null, { method: 'PUT', body: new Uint8Array(1_100_000) }],
        ['/app/hello', 200, 'hello from hono'],
        ['/app/users/9', 200, '{"id":"9","calls":1}'],
        ['/app/users/9', 200, '{"id":"9","calls":1}'],
        ['/app/broken', 500, null, HTML],
        ['/markdown', 200, '<p>so <em>much</em></p>\n', { method: 'POST', body: 'so *much*' }],
        ['/broken', 500, null, HTML],
      ]
    for (const [path, status, text, init] of rows) {
      const answer = await ask(path, init)
      const row = `${init?.method ?? 'GET'} ${path}`
      assertEquals([row, answer.status, answer.headers.get('x-mayfly-isolation')], [row, status, 'worker'])
      if (text !== null) assertEquals(answer.text, text, row)
    }
    assertStringIncludes((await ask('/broken', HTML)).text, 'broken.ts')
    // What is not isolated says nothing of the kind.
    for (const path of ['/plain', '/nowhere']) {
      assertEquals((await ask(path)).headers.get('x-mayfly-isolation'), null)
    }
  })
  const warning = told.filter((line) => line.includes('no virtual machine can run here'))
  assertEquals(warning.length, 1)
  assertStringIncludes(warning[0], NO_KVM)
  assertStringIncludes(warning[0], 'x-mayfly-isolation: worker')
  const [event, ...more] = site.events.filter(({ kind }) => kind === 'isolate:unavailable')
  assertEquals([toUnavailable(event), more.length], [{ message: NO_KVM, instead: 'worker' }, 0])
})

Deno.test('a middleware that answers by itself does not take the header away', async () => {
  const site = createWorkerSite('context', { middleware: () => new Response('stop', { status: 429 }) })
  await withSite(site, async ({ ask }) => {
    assertEquals((await ask('/show?what=text')).headers.get('x-mayfly-isolation'), null, 'nothing runs yet')
    await site.app.isolated.work
    const { startIsolated } = await import('../../src/app/isolated/mod.ts')
    await startIsolated(site.app)
    const { status, headers } = await ask('/show?what=text')
    assertEquals([status, headers.get('x-mayfly-isolation')], [429, 'worker'])
    assertEquals((await ask('/plain')).headers.get('x-mayfly-isolation'), null)
  })
})

/** As the machines answer (hostile_test.ts), but for what needs them: waiting is not free here, memory has two ends. */
const CASES: Readonly<Record<string, readonly [status: number, type: string] | string>> = {
  '/do?what=loop': [504, 'isolation-timeout'],
  '/do?what=microtasks': [504, 'isolation-timeout'],
  '/do?what=kill': [502, 'isolation-crash'],
  '/do?what=exit': [502, 'isolation-crash'],
  '/do?what=abort': [502, 'isolation-crash'],
  '/do?what=throw_in_timer': [502, 'isolation-crash'],
  '/do?what=output': [502, 'isolation-output'],
  '/do?what=output_stream': [502, 'isolation-output'],
  '/do?what=http_error': [418, 'teapot'],
  '/do?what=throw': [500, 'about:blank'],
  '/do?what=throw_trap': [500, 'about:blank'],
  '/do?what=recursion': [500, 'about:blank'],
  '/do?what=never': [500, 'about:blank'],
  '/eat?what=array': [507, 'isolation-memory'],
  '/eat?what=buffers': [500, 'about:blank'],
  '/eat?what=wasm_memory': [500, 'about:blank'],
  '/do?what=console': 'done',
  '/do?what=stdout': 'done',
  '/do?what=late': 'answered',
}

Deno.test('what handlers do wrong ends as in a machine, and the next request is right', async () => {
  const site = createWorkerSite('hostile')
  await withSite(site, async () => {
    for (const [path, wanted] of Object.entries(CASES)) {
      if (typeof wanted === 'string') assertEquals((await site.ask(path)).text, wanted, path)
      else {
        const { status, type } = await problemIn(site, path)
        assertEquals([path, status, type], [path, ...wanted])
      }
      assertEquals((await site.ask('/hello')).text, '{"hello":"world","calls":1}', `after ${path}`)
    }
  })
  for (const kind of ['timeout', 'memory', 'crash']) {
    assert(kindsOf(site, /^isolate:/).includes(`isolate:${kind}`), kind)
  }
})

Deno.test('nothing of a request is left to the next, unless the state is to be kept', async () => {
  const site = createWorkerSite('world')
  Deno.env.set('MAYFLY_SEEN', 'from the host')
  await withSite(site, async ({ ask }) => {
    for (let i = 0; i < 5; i++) assertEquals((await ask('/count')).text, '{"count":1}')
    for (let i = 1; i <= 5; i++) assertEquals((await ask('/kept')).text, `{"count":${i}}`)
    const clean = JSON.parse((await ask('/dirt')).text)
    assertEquals(clean.env, 'from the host')
    assertEquals((await ask('/dirt', { method: 'POST' })).status, 200)
    assertEquals(JSON.parse((await ask('/dirt')).text), clean)
    const [first, second] = [await ask('/randomness'), await ask('/randomness')].map(({ text }) =>
      JSON.parse(text)
    )
    for (const name of Object.keys(first)) assert(first[name] !== second[name], name)
  })
})

Deno.test('a WebSocket is refused, and plain requests are served', async () => {
  using _environment = setEnvironment({ DENO_ENV: 'development' })
  const site = createWorkerSite('sockets')
  await withSite(site, async ({ ask }) => {
    const headers = { upgrade: 'websocket', accept: 'text/html' }
    const { status, text } = await ask('/echo', { headers })
    assertEquals(status, 500)
    assertStringIncludes(text, 'a worker process has no WebSockets')
    assertEquals((await ask('/echo')).text, 'request 1')
  })
})

Deno.test('Deno refuses network, processes, files, the environment and native code', async () => {
  const site = createWorkerSite('world')
  const ways = [
    ...['fetch', 'connect', 'listen', 'serve', 'websocket', 'node_net', 'run', 'kill'],
    ...['write', 'temp', 'ffi', 'hostname'],
  ]
  await withSite(site, async ({ ask }) => {
    for (const way of ways) {
      assertEquals((await ask(`/reach?by=${way}`)).text, '{"error":"NotCapable"}', way)
    }
    for (const way of ['read', 'read_own', 'read_folder', 'chdir']) {
      assertEquals((await ask(`/reach?by=${way}`)).text, '{"error":"NotFound"}', way)
    }
    for (const way of ['env', 'node_spawn']) {
      assertEquals((await ask(`/reach?by=${way}`)).text, '{"got":"undefined"}', way)
    }
    assertEquals((await ask('/reach?by=env_all')).text, '{"got":"NODE_ENV"}')
    for (const way of ['import_file', 'import_url', 'dns', 'node_read']) {
      assertMatch((await ask(`/reach?by=${way}`)).text, /^\{"error":"\w+"\}$/, way)
    }
    const { status, text } = await ask('/reach?by=permission')
    assertEquals(status, 200, text)
    assertEquals(JSON.parse(text).got.split(',').filter((state: string) => state === 'granted'), [])
  })
})

Deno.test('requests wait in a bounded queue, and get their own answers', async () => {
  const site = createWorkerSite('limits', { isolate: { vms: 2, queue: 4, onUnavailable: 'worker' } })
  await withSite(site, async ({ ask }) => {
    assertEquals((await ask('/slow')).text, 'done')
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask('/slow?ms=200')))
    const right = answers.filter(({ status, text }) => status === 200 && text === 'done')
    const refused = answers.filter(({ status }) => status === 503)
    assertEquals([right.length, refused.length], [6, 6])
    for (const { headers } of refused) assertEquals(headers.get('retry-after'), '1')
    assertEquals((await ask('/slow')).text, 'done')
  })
})

Deno.test('close lets requests out and leaves no process and no file', async () => {
  const site = createWorkerSite('limits')
  const temporary = await Deno.makeTempDir()
  const before = Deno.env.get('TMPDIR')
  Deno.env.set('TMPDIR', temporary)
  try {
    const processes = childrenOf(Deno.pid)
    await withSite(site, async ({ ask, close }) => {
      for (const path of ['/quick', '/slow?ms=0']) assertEquals((await ask(path)).text, 'done')
      assert(childrenOf(Deno.pid) > processes, 'no process was seen: the test shows nothing')
      const pending = ask('/slow?ms=100')
      await new Promise((resolve) => setTimeout(resolve, 20))
      await close()
      assertEquals((await pending).text, 'done')
      // And it serves anew.
      assertEquals((await ask('/quick')).text, 'done')
    })
    assertEquals([[...Deno.readDirSync(temporary)], childrenOf(Deno.pid)], [[], processes])
  } finally {
    if (before === undefined) Deno.env.delete('TMPDIR')
    else Deno.env.set('TMPDIR', before)
    await Deno.remove(temporary, { recursive: true })
  }
})

Deno.test('a saved file swaps its program without a failed request, and a broken one keeps the last', async () => {
  const folder = await Deno.makeTempDir()
  const write = (word: string, more = '') =>
    Deno.writeTextFile(
      `${folder}/index.ts`,
      `export const isolated = true\nlet n = 0\nexport const GET = (ctx) => ctx.send.text('${word} ' + ++n)\n${more}`,
    )
  try {
    await write('one')
    const site = createWorkerSite(folder, { hotReload: true, drainMs: 1000 })
    await errorsOf(() =>
      withServer(site, async (origin) => {
        const ask = async () => {
          const response = await fetch(origin)
          assertEquals(response.headers.get('x-mayfly-isolation'), 'worker')
          return `${response.status} ${await response.text()}`
        }
        assertEquals(await ask(), '200 one 1')
        /** Asks until it is so; every answer must be that of a version that works. */
        const until = async (done: (answer: string) => boolean) => {
          for (const end = performance.now() + 60_000; performance.now() < end;) {
            const answer = await ask()
            assertMatch(answer, /^200 (one|two|three) 1$/)
            if (done(answer)) return
          }
          throw new Error('Cannot wait longer: the save has no effect')
        }
        await write('two')
        await until((answer) => answer === '200 two 1')
        await write('bad', 'const = 5')
        await until(() => site.events.some(({ kind }) => kind === 'reload:error'))
        await write('three')
        await until((answer) => answer === '200 three 1')
        assertEquals(await ask(), '200 three 1')
      })
    )
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})

Deno.test('cpuMs counts work and not waiting, timeoutMs both', async () => {
  const folder = await Deno.makeTempDir()
  try {
    await Deno.writeTextFile(
      `${folder}/index.ts`,
      `export const isolated = { cpuMs: 200, timeoutMs: 20_000 }
export const GET = async (ctx) => {
  if (ctx.get.query('work') !== undefined) for (;;);
  await new Promise((resolve) => setTimeout(resolve, 500))
  return ctx.send.text('done')
}
`,
    )
    await Deno.writeTextFile(
      `${folder}/quick.ts`,
      `export const isolated = { timeoutMs: 200 }
export const GET = () => new Promise(() => setTimeout(() => {}, 60_000))
`,
    )
    const site = createWorkerSite(folder)
    await withSite(site, async ({ ask }) => {
      assertEquals((await ask('/')).text, 'done')
      const waited = await problemIn(site, '/quick')
      assertEquals([waited.status, waited.type], [504, 'isolation-timeout'])
      const begin = performance.now()
      const { status, type } = await problemIn(site, '/?work=1')
      assertEquals([status, type], [504, 'isolation-timeout'])
      assert(performance.now() - begin < 15_000, 'ended by its time, not its work')
    })
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})

Deno.test('what a process cannot keep is refused: coarse clocks', async () => {
  using _environment = setEnvironment({ DENO_ENV: 'development' })
  const folder = await Deno.makeTempDir()
  try {
    await Deno.writeTextFile(
      `${folder}/index.ts`,
      `export const isolated = { coarseClockUs: 100 }
export const GET = (ctx) => ctx.send.text('ran')
`,
    )
    const site = createWorkerSite(folder)
    await withSite(site, async () => {
      const { status, text } = await site.ask('/')
      assertEquals([status, text.includes('coarseClockUs is 100, want 0 there')], [500, true], text)
    })
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})

/** Worker processes of this one. */
function childrenOf(pid: number): number {
  let count = 0
  for (const { name } of Deno.readDirSync(`/proc/${pid}/task`)) {
    const children = Deno.readTextFileSync(`/proc/${pid}/task/${name}/children`)
    for (const child of children.split(' ').filter((child) => child !== '')) {
      if (Deno.readTextFileSync(`/proc/${child}/cmdline`).includes('program.js')) count++
    }
  }
  return count
}
