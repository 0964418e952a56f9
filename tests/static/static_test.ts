import { assert, assertEquals, assertRejects, assertThrows } from '@std/assert'
import { HttpError } from '../../src/errors/http_error.ts'
import { createStaticMount, sortMounts } from '../../src/static/mount.ts'
import type { StaticSource } from '../../src/static/options.ts'
import { serveFile } from '../../src/static/serve_file.ts'
import { serveStatic } from '../../src/static/serve_static.ts'
import { BIG, ctx, HTTP_TIME, plain, TAG, textOf, TIME, withSite } from './site.ts'

Deno.test('a file is answered with type, length, tag and time', () =>
  withSite(plain, async ({ get }) => {
    const response = await get('/hello.txt')
    assertEquals(await textOf(response), 'hello, world')
    assertEquals(response!.status, 200)
    assertEquals(Object.fromEntries(response!.headers), {
      'accept-ranges': 'bytes',
      'content-length': '12',
      'content-type': 'text/plain; charset=UTF-8',
      etag: `W/"c-${TIME.getTime().toString(16)}"`,
      'last-modified': HTTP_TIME,
      vary: 'Accept-Encoding',
    })
  }))

Deno.test('names are taken as they are on disk, types by suffix', () =>
  withSite(plain, async ({ get }) => {
    assertEquals(await textOf(await get('/with space & ü.txt')), 'space')
    // `%25` is how the router's normal form writes a percent sign.
    assertEquals(await textOf(await get('/100%25.txt')), 'percent')
    assertEquals(await textOf(await get('/inside.txt')), 'hello, world')
    assertEquals(
      (await get('/folder/bare/x.json', {}, 'HEAD'))!.headers.get('content-type'),
      'application/json; charset=UTF-8',
    )
    assertEquals((await get('/big.bin', {}, 'HEAD'))!.headers.get('content-type'), 'application/octet-stream')
    assertEquals(await textOf(await get('/empty.css')), '')
    assertEquals(await textOf(await get('/.well-known/security.txt')), 'contact')
  }))

Deno.test('a big file arrives whole', () =>
  withSite(plain, async ({ get }) => {
    assertEquals(new Uint8Array(await (await get('/big.bin'))!.arrayBuffer()), BIG)
  }))

Deno.test('HEAD has the headers of GET and no body', () =>
  withSite(plain, async ({ get }) => {
    for (const path of ['/hello.txt', '/big.bin', '/empty.css']) {
      const [head, whole] = [await get(path, {}, 'HEAD'), await get(path)]
      assertEquals([...head!.headers], [...whole!.headers])
      assertEquals(head!.body, null)
      await whole!.body?.cancel()
    }
  }))

Deno.test('a folder is its index, after a redirect to the slash', () =>
  withSite(plain, async ({ get }) => {
    assertEquals(await textOf(await get('/folder/')), '<p>index</p>')
    const redirect = await get('/folder')
    assertEquals([redirect!.status, redirect!.headers.get('location')], [308, '/files/folder/?q=1'])
    for (const path of ['/folder/bare', '/folder/bare/', '/hello.txt/', '/', '', '/folder/index.html/x']) {
      assertEquals(await get(path), undefined, path)
    }
  }))

Deno.test('index names another file, or none', async () => {
  await withSite((dir) => ({ dir, index: 'hello.txt' }), async ({ get }) => {
    assertEquals(await textOf(await get('/')), 'hello, world')
    assertEquals((await get(''))!.status, 308)
  })
  await withSite(
    (dir) => ({ dir, index: false }),
    async ({ get }) => assertEquals(await get('/folder/'), undefined),
  )
})

Deno.test('names that are never served are refused and reported', () =>
  withSite(plain, async ({ get, missing, root }) => {
    const refused = [
      '/.env',
      '/.git/config',
      '/.well-known/.secret',
      '/folder/.hidden',
      '/../outside.txt',
      '/folder/../../outside.txt',
      '/folder//index.html',
      '/..%2Foutside.txt',
      '/folder%2Findex.html',
      '/folder\\index.html',
      '/hello.txt\0',
      '/escape.txt',
      '/escape/outside.txt',
      '/escape',
      '/env.txt',
      '//hello.txt',
      `/${root}/hello.txt`,
    ]
    for (const path of refused) assertEquals(await get(path), undefined, path)
    assertEquals(missing, refused.map((path) => [`/files${path}`, 'refused']))
  }))

Deno.test('what is not there is reported as missing', () =>
  withSite(plain, async ({ get, missing }) => {
    const absent = ['/none', '/hello.txt/below', '/loop', `/${'x'.repeat(300)}`, '/folder/none/deeper']
    for (const path of absent) assertEquals(await get(path), undefined, path)
    assertEquals(missing, absent.map((path) => [`/files${path}`, 'missing']))
  }))

Deno.test('a pipe is not opened', () =>
  withSite(plain, async ({ get, root }) => {
    const made = await new Deno.Command('mkfifo', { args: [`${root}/pipe.txt`] }).output()
    assert(made.success)
    assertEquals(await get('/pipe.txt'), undefined)
  }))

Deno.test('other methods: 405 with Allow on a file, OPTIONS 204, nothing elsewhere', () =>
  withSite(plain, async ({ get }) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const error = await assertRejects(() => get('/hello.txt', {}, method), HttpError)
      assertEquals([error.status, error.headers], [405, { allow: 'GET, HEAD, OPTIONS' }])
      assertEquals(await get('/none', {}, method), undefined)
    }
    const options = await get('/hello.txt', {}, 'OPTIONS')
    assertEquals([options!.status, options!.headers.get('allow')], [204, 'GET, HEAD, OPTIONS'])
  }))

Deno.test('caching is by option, on 304 as well', async () => {
  const cases: [object, string | null][] = [
    [{}, null],
    [{ maxAge: 0 }, 'public, max-age=0'],
    [{ maxAge: 60 }, 'public, max-age=60'],
    [{ immutable: true }, 'public, max-age=31536000, immutable'],
    [{ maxAge: 60, immutable: true }, 'public, max-age=60, immutable'],
  ]
  for (const [options, expected] of cases) {
    await withSite((dir) => ({ dir, ...options }), async ({ get }) => {
      for (const headers of [{}, { 'if-none-match': TAG }] as Record<string, string>[]) {
        const response = await get('/hello.txt', headers)
        assertEquals(response!.headers.get('cache-control'), expected)
        await response!.body?.cancel()
      }
    })
  }
})

Deno.test('a function chooses the folder, an answer or nothing for each request', () =>
  withSite(plain, async ({ root }) => {
    const answers: unknown[] = [root, new Response('own'), undefined, Promise.resolve(root)]
    const mount = createStaticMount('/', () => answers.shift() as string)
    const get = () => serveStatic([mount], new Request('http://host/hello.txt'), '/hello.txt', ctx)
    assertEquals(await textOf(await get()), 'hello, world')
    assertEquals(await textOf(await get()), 'own')
    assertEquals(await get(), undefined)
    assertEquals(await textOf(await get()), 'hello, world')
  }))

Deno.test('the longest prefix is asked first, then the others; a miss is told once', () =>
  withSite(plain, async ({ root }) => {
    const mounts = sortMounts([
      createStaticMount('/', root),
      createStaticMount('/a/folder/', `${root}/folder`),
      createStaticMount('/a', root),
    ])
    assertEquals(mounts.map(({ prefix }) => prefix), ['/a/folder', '/a', ''])
    const missing: string[] = []
    const get = (path: string) =>
      serveStatic(
        mounts,
        new Request(`http://host${path}`),
        path,
        ctx,
        (path, reason) => missing.push(`${path} ${reason}`),
      )
    assertEquals(await textOf(await get('/a/folder/bare/x.json')), '{}')
    assertEquals(await textOf(await get('/a/hello.txt')), 'hello, world')
    assertEquals(await textOf(await get('/hello.txt')), 'hello, world')
    assertEquals(await get('/ahello.txt'), undefined)
    assertEquals(await get('/a/folder/none'), undefined)
    assertEquals(await get('/a/.env'), undefined)
    assertEquals(missing, ['/ahello.txt missing', '/a/folder/none missing', '/a/.env refused'])
  }))

Deno.test('createStaticMount refuses what cannot be meant and names it', () => {
  const bad: [string, unknown, string][] = [
    ['assets', 'dir', 'starts with a slash'],
    ['/a*', 'dir', 'a plain path'],
    ['/a/../b', 'dir', 'a plain path'],
    ['/a', '', 'dir is ""'],
    ['/a', 7, 'got 7'],
    ['/a', null, 'got null'],
    ['/a', {}, 'dir is missing'],
    ['/a', { dir: 'x', maxage: 1 }, 'maxage is no option, did you mean maxAge'],
    ['/a', { dir: 'x', maxAge: -1 }, 'maxAge is -1'],
    ['/a', { dir: 'x', maxAge: '1' }, 'maxAge is "1"'],
    ['/a', { dir: 'x', immutable: 1 }, 'immutable is 1'],
    ['/a', { dir: 'x', index: 'a/b' }, 'index is "a/b"'],
    ['/a', { dir: 'x', precompressed: 'br' }, 'precompressed is "br"'],
  ]
  for (const [prefix, source, message] of bad) {
    const error = assertThrows(() => createStaticMount(prefix, source as StaticSource))
    assert(error instanceof TypeError || error instanceof RangeError)
    assert(error.message.includes(message), error.message)
  }
})

Deno.test('a body that is given up or cut short closes its file', () =>
  withSite(plain, async ({ get, root }) => {
    const given = await get('/big.bin', { range: 'bytes=1-290000' })
    const reader = given!.body!.getReader()
    await reader.read()
    await reader.cancel()
    await (await get('/big.bin', { range: 'bytes=1-290000' }))!.body!.cancel()
    await (await get('/big.bin'))!.body!.cancel()
    const cut = await get('/big.bin', { range: 'bytes=0-290000' })
    await Deno.truncate(`${root}/big.bin`, 100_000)
    await assertRejects(() => cut!.arrayBuffer(), Error, 'shorter')
  }))

Deno.test('over a socket: whole, range, HEAD, and a client that goes away', () =>
  withSite(plain, async ({ root }) => {
    const mounts = [createStaticMount('/', root)]
    const server = Deno.serve(
      { port: 0, hostname: '127.0.0.1', onListen() {} },
      async (request) =>
        await serveStatic(mounts, request, new URL(request.url).pathname, ctx) ??
          new Response(null, { status: 404 }),
    )
    const url = `http://127.0.0.1:${server.addr.port}/big.bin`
    try {
      assertEquals(new Uint8Array(await (await fetch(url)).arrayBuffer()), BIG)
      const range = await fetch(url, { headers: { range: 'bytes=5-70000' } })
      assertEquals(new Uint8Array(await range.arrayBuffer()), BIG.slice(5, 70_001))
      const head = await fetch(url, { method: 'HEAD' })
      assertEquals(head.headers.get('content-length'), String(BIG.length))
      assertEquals(await head.text(), '')
      for (const headers of [{}, { range: 'bytes=0-299998' }] as Record<string, string>[]) {
        const controller = new AbortController()
        const gone = await fetch(url, { headers, signal: controller.signal })
        await gone.body!.getReader().read()
        controller.abort()
      }
    } finally {
      await server.shutdown()
    }
  }))

Deno.test('serveFile sends any file as a static folder would, or 404', () =>
  withSite(plain, async ({ root }) => {
    const send = (
      name: string,
      init?: Parameters<typeof serveFile>[2],
      headers: Record<string, string> = {},
    ) => serveFile(new Request('http://host/', { headers }), `${root}/${name}`, init)
    const whole = await send('hello.txt', {
      headers: { 'content-type': 'text/x-own', 'x-more': '1' },
      filename: 'grüße.txt',
    })
    assertEquals(whole.headers.get('content-type'), 'text/x-own')
    assertEquals(whole.headers.get('x-more'), '1')
    assertEquals(
      whole.headers.get('content-disposition'),
      `attachment; filename="gr__e.txt"; filename*=UTF-8''gr%C3%BC%C3%9Fe.txt`,
    )
    assertEquals(await whole.text(), 'hello, world')
    assertEquals((await send('hello.txt', {}, { 'if-none-match': TAG })).status, 304)
    assertEquals(await (await send('hello.txt', {}, { range: 'bytes=-5' })).text(), 'world')
    const page = await send('page.html', { status: 410 }, { range: 'bytes=0-0', 'if-none-match': '*' })
    assertEquals([page.status, await page.text()], [410, '<p>page</p>'])
    for (const name of ['none', 'folder', 'hello.txt/x', 'loop']) {
      const error = await assertRejects(() => send(name), HttpError)
      assertEquals(error.status, 404, name)
    }
  }))
