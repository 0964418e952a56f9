/** What development shows when a route or a view breaks: the user's file, line and message first, to browsers and to programs. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { Router, type RouterOptions } from '@mayfly/mayfly'
import { setEnvironment } from '../environment.ts'
import { tempSite } from '../router/temp_site.ts'

const ORIGIN = 'http://mayfly.test'
const HANDLER = 'export const GET = (ctx) => ctx.render('

/** What the site of these files answers, and what it wrote on stderr. */
interface Answers {
  page(path: string): Promise<string>
  problem(path: string): Promise<Problem>
  readonly log: string[]
}

interface Problem {
  readonly status: number
  readonly detail?: string
  readonly error?: {
    readonly message: string
    readonly file?: string
    readonly line?: number
    readonly source?: string
    readonly stack: string[]
  }
}

async function withSite(
  files: Record<string, string>,
  run: (answers: Answers) => Promise<void>,
  { environment = 'development', setup, ...options }: RouterOptions & {
    environment?: string
    setup?: (router: Router) => void
  } = {},
): Promise<readonly string[]> {
  await using site = await tempSite({ 'deno.json': '{}', 'views/hello.dve': 'hello', ...files })
  using _environment = setEnvironment({ DENO_ENV: environment })
  using captured = captureErrors()
  const { routesDir, root } = site
  await using router = new Router({ routesDir, viewsDir: `${root}/views`, isolate: false, ...options })
  setup?.(router)
  const ask = (path: string, accept: string) =>
    router.fetch(new Request(`${ORIGIN}${path}`, { headers: { accept } }))
  await run({
    page: async (path) => await (await ask(path, 'text/html')).text(),
    problem: async (path) => await (await ask(path, 'application/json')).json(),
    log: captured.lines,
  })
  await router.close()
  return captured.lines
}

/** Keeps what is written on stderr, as it would be without colours. */
function captureErrors(): Disposable & { readonly lines: string[] } {
  const { error } = console
  const lines: string[] = []
  console.error = (...parts: unknown[]) => {
    lines.push(
      ...parts.map((part) => typeof part === 'string' ? part : Deno.inspect(part)).join(' ').split('\n'),
    )
  }
  return { lines, [Symbol.dispose]: () => void (console.error = error) }
}

/** The text of a page in the order in which it is read, without what is folded away. */
function shownText(html: string): string {
  return html.replace(/<style>[^]*?<\/style>|<details>[^]*?<\/details>/g, '').replace(/<[^>]+>/g, '')
    .replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>')
}

Deno.test('a broken view shows its template', async () => {
  const files = { 'views/list.dve': '<ul>\n  {{ name | }}\n</ul>\n', 'routes/list.ts': `${HANDLER}'list')\n` }
  await withSite(files, async ({ page, problem }) => {
    const text = shownText(await page('/list'))
    assertMatch(
      text,
      /want the name of a filter\s*views\/list\.dve:2:13\s+1 \| <ul>\s+2 \| {3}\{\{ name \| \}\}\n\s+\|\s+\^/,
    )
    assert(!text.includes('src/dve'), text)
    const { detail, error } = await problem('/list')
    assertMatch(detail!, /^TemplateError: Cannot read expression: .*filter$/)
    assertEquals([error!.file, error!.line, error!.source], ['views/list.dve', 2, '  {{ name | }}'])
  })
})

Deno.test('a view that fails on its data shows the template, then what was thrown', async () => {
  const files = {
    'views/user.dve': 'one\n{{ user | loud }}\n',
    'routes/user.ts': `${HANDLER}'user', { user: 7 })\n`,
  }
  const filters = {
    loud(value: unknown) {
      throw new TypeError(`${value} is not loud`)
    },
  }
  await withSite(files, async ({ problem }) => {
    const { error } = await problem('/user')
    assertEquals([error!.file, error!.line], ['views/user.dve', 2])
    assertMatch(error!.message, /7 is not loud/)
  }, { filters })
})

Deno.test('a view that is not there shows the call that asked for it', async () => {
  await withSite({ 'routes/a.ts': `// one\n${HANDLER}'helo')\n` }, async ({ problem }) => {
    const { error } = await problem('/a')
    assertEquals([error!.file, error!.line], ['routes/a.ts', 2])
    assertMatch(error!.message, /"helo" is not there/)
  })
})

Deno.test('a route that does not parse shows its own line', async () => {
  const files = { 'routes/a.ts': 'export const GET = () => {\n  return new Response("a"\n}\n' }
  await withSite(files, async ({ page, problem }) => {
    const { error } = await problem('/a')
    assertEquals([error!.file, error!.line], ['routes/a.ts', 3])
    const text = shownText(await page('/a'))
    assertMatch(text, /routes\/a\.ts:3:\d+/)
    assert(!text.includes('src/router'), text)
  })
})

Deno.test('a package that is missing names the file that imports it', async () => {
  const files = {
    'routes/a.ts': "import { b } from '../lib/b.ts'\nexport const GET = () => new Response(b)\n",
    'lib/b.ts': "// one\nimport pad from 'no-such-package'\nexport const b = pad('')\n",
  }
  await withSite(files, async ({ problem }) => {
    const { error } = await problem('/a')
    assertEquals([error!.file, error!.line], ['lib/b.ts', 2])
    assertMatch(error!.message, /no-such-package/)
  })
})

Deno.test('what a handler throws shows the handler', async () => {
  const files = {
    'lib/sum.ts': 'export const sum = (list) =>\n  list.reduce((a, b) => a + b)\n',
    'routes/a.ts': "import { sum } from '../lib/sum.ts'\nexport const GET = () => new Response(sum(null))\n",
  }
  await withSite(files, async ({ problem }) => {
    const { error } = await problem('/a')
    assertEquals([error!.file, error!.line], ['lib/sum.ts', 2])
    assertEquals(error!.stack.length, 2)
    assertStringIncludes(error!.stack[1], 'routes/a.ts:2:')
  })
})

Deno.test('_error.ts and router.catch do not hide an error in development, and can be seen', async () => {
  const files = {
    'routes/a.ts': 'export const GET = () => { throw new Error("boom") }\n',
    'routes/b/b.ts': 'export const GET = () => { throw new Error("boom") }\n',
    'routes/b/_error.ts': 'export default (ctx, { status }) => ctx.send.text(`ours ${status}`)\n',
    'routes/c.ts': 'export const GET = (ctx) => ctx.fail(409)\n',
  }
  const setup = (router: Router) => void router.catch((ctx) => ctx.send.text('hook'))
  await withSite(files, async ({ page, problem }) => {
    for (const [path, ours] of [['/a', 'hook'], ['/b/b', 'ours 500']]) {
      const html = await page(path)
      assertStringIncludes(html, 'boom')
      assertEquals((await problem(path)).error!.message, 'boom')
      const link = /href="([^"]+)"/.exec(html)![1]
      assertEquals(await page(link), ours)
    }
    assertEquals(await page('/c'), 'hook', 'what a handler means is no fault')
  }, { setup })
  await withSite(files, async ({ page }) => {
    assertEquals(await page('/a'), 'hook')
    assertEquals(await page('/b/b'), 'ours 500')
  }, { setup, environment: 'production' })
})

Deno.test('a fault is one line with its place, and repeats are counted', async () => {
  const files = {
    'routes/a.ts': 'export const GET = () => {\n  throw new TypeError(`no user ${Math.random()}`)\n}\n',
    'routes/b.ts': 'export const GET = (\n',
    'views/c.dve': '{{ name | }}\n',
    'routes/c.ts': `${HANDLER}'c')\n`,
  }
  for (const environment of ['development', 'production']) {
    const said: string[] = []
    await withSite(files, async ({ page, log }) => {
      for (let turn = 0; turn < 50; turn++) for (const path of ['/a', '/b', '/c']) await page(path)
      // Below the line production keeps the stack.
      said.push(
        ...log.splice(0).filter((line) => environment === 'development' || !line.startsWith('    at ')),
      )
    }, { environment })
    assertEquals(said.length, 3, said.join('\n'))
    assertMatch(said[0], /^mayfly: load route '.*routes\/b\.ts': .*\(.*routes\/b\.ts:\d+:\d+\)$/)
    assertMatch(said[1], /^mayfly: GET \/a failed: TypeError: no user 0\.\d+ \(.*routes\/a\.ts:2:9\)$/)
    assertMatch(said[2], /^mayfly: GET \/c failed: Cannot read expression: .* \(.*views\/c\.dve:1:11\)$/)
  }
})

Deno.test('the end of a site tells how often its faults came again', async () => {
  const log = await withSite(
    { 'routes/a.ts': 'export const GET = () => { throw "no" }\n' },
    async ({ page }) => {
      for (let turn = 0; turn < 5; turn++) await page('/a')
    },
  )
  assertEquals(log, [
    'mayfly: GET /a failed: "no" was thrown',
    'mayfly: GET /a failed: "no" was thrown (4 times more)',
  ])
})

Deno.test('what is thrown cannot write to the terminal, nor break the log', async () => {
  const files = {
    'routes/a.ts': 'export const GET = () => { throw new Error("\\x1b[2J") }\n',
    'routes/b.ts': 'export const GET = () => { throw { get name() { throw 1 }, toString() { throw 2 } } }\n',
    'routes/c.ts':
      'export const GET = () => { throw Object.defineProperty(new Error(), "message", { get() { throw 1 } }) }\n',
  }
  const log = await withSite(files, async ({ page }) => {
    for (const path of ['/a', '/b', '/c']) await page(path)
  })
  assert(log.every((line) => !line.includes('\x1b')), log.join('\n'))
  assertMatch(log.at(-1)!, /GET \/c failed: what was thrown throws when it is looked at/)
})

Deno.test('in production no client reads more than the status', async () => {
  const files = { 'views/list.dve': '{{ name | }}\n', 'routes/list.ts': `${HANDLER}'list')\n` }
  await withSite(files, async ({ page, problem }) => {
    assertEquals(await problem('/list'), {
      type: 'about:blank',
      title: 'Internal Server Error',
      status: 500,
    } as Problem)
    assert(!/list|filter|\.ts/.test(shownText(await page('/list'))))
  }, { environment: 'production' })
})

Deno.test('a name that is not there suggests the one that was meant', async () => {
  const files = {
    'views/blog/post.dve': '',
    'routes/users/[id].ts': `${HANDLER}'helo')\n`,
    'routes/posts/index.ts': `${HANDLER}'blog/pots')\n`,
    'routes/files/[...rest].ts': `${HANDLER}'nothing-like-it')\n`,
  }
  await withSite(files, async ({ problem }) => {
    const detail = async (path: string) => (await problem(path)).detail
    assertMatch((await detail('/users/7'))!, /"helo" is not there, did you mean "hello"$/)
    assertMatch((await detail('/posts'))!, /"blog\/pots" is not there, did you mean "blog\/post"$/)
    assertMatch((await detail('/files/a'))!, /"nothing-like-it" is not there$/)
    assertMatch(
      (await detail('/user/7'))!,
      /^No route matches \/user\/7, did you mean \/users\/\[id\] \(.*\[id\]\.ts\)$/,
    )
    assertMatch((await detail('/file/a/b'))!, /^No route matches .*did you mean \/files\/\[\.\.\.rest\]/)
    assertEquals(await detail('/nothing/like/it'), 'No route matches /nothing/like/it')
    assertEquals(await detail(`/${'x'.repeat(5000)}`), `No route matches /${'x'.repeat(5000)}`)
  })
  await withSite(files, async ({ problem }) => {
    assertEquals(await problem('/user/7') as unknown, {
      type: 'about:blank',
      title: 'Not Found',
      status: 404,
    })
  }, { environment: 'production' })
})

Deno.test('a file that serves nothing says why, in the log and where it was asked for', async () => {
  const files = {
    'routes/lower.ts': 'export const get = () => new Response()\n',
    'routes/app.ts': 'export default (ctx) => ctx.send.text("")\n',
    'routes/notes.txt': '',
  }
  for (const environment of ['development', 'production']) {
    const log = await withSite(files, async ({ problem }) => {
      const { detail } = await problem('/lower')
      if (environment === 'production') return assertEquals(detail, undefined)
      assertMatch(
        detail!,
        /lower\.ts serves nothing: export 'get' is not a method, wanted 'GET' in capitals$/,
      )
      assertMatch(
        (await problem('/app')).detail!,
        /app\.ts serves nothing: its default export is a function that nobody calls/,
      )
    }, { environment })
    assertEquals(log.length, 3, log.join('\n'))
    for (const line of log) {
      assertMatch(line, /^mayfly: .*routes\/\S+: (export 'get'|its default export|no rule takes it)/)
    }
  }
  const quiet = await withSite(files, () => Promise.resolve(), {
    setup: (router) => void router.on('route:*', () => {}),
  })
  assertEquals(quiet, [])
})
