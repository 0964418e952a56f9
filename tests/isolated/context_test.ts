/** The context of an isolated handler is that of any other. */
import { assert, assertEquals, assertStringIncludes } from '@std/assert'
import { session } from '@mayfly/mayfly'
import { type Answer, inEachRuntime, openDevelopment, type Suite } from './fixture.ts'

inEachRuntime(async (runtime) => {
  Deno.env.set('MAYFLY_SEEN', 'from the host')
  const site = await openDevelopment('context', { isolate: { vms: 1, runtime } })
  site.router.use(session({ cookieSecret: 'x'.repeat(32), secure: false }))
  return site
}, suite)

function suite({ test, site }: Suite): void {
  interface Row {
    readonly name: string
    readonly path: string
    readonly init?: RequestInit
    readonly status?: number
    readonly text?: string
    readonly headers?: Readonly<Record<string, string | null>>
  }

  const JSON_BODY = { 'content-type': 'application/json' }
  const ROWS: readonly Row[] = [
    {
      name: 'text',
      path: '/show?what=text',
      text: 'text',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    },
    {
      name: 'html',
      path: '/show?what=html',
      text: '<p>html</p>',
      headers: { 'content-type': 'text/html; charset=utf-8' },
    },
    { name: 'a view, rendered by the host', path: '/show?what=view', text: '<p>Hello &lt;Ann&gt;, 2</p>\n' },
    {
      name: 'a view with a status',
      path: '/show?what=view_status',
      status: 202,
      text: '<p>Hello Bob, 1</p>\n',
    },
    { name: 'a view that is not there', path: '/show?what=no_view', status: 500 },
    {
      name: 'headers',
      path: '/show?what=headers',
      init: { headers: { 'X-Asked': 'asked' } },
      text: '"asked"',
      headers: { 'x-one': '1', 'x-many': 'a, b', 'content-type': 'application/json' },
    },
    {
      name: 'state',
      path: '/show?what=state',
      text: 'state',
      headers: { 'x-state': '{"seen":"the host"}' },
    },
    { name: 'a redirect', path: '/show?what=redirect', status: 303, headers: { location: '/users/ann' } },
    {
      name: 'a redirect to a script',
      path: '/show?what=redirect_away',
      status: 500,
      headers: { location: null },
    },
    { name: 'a status', path: '/show?what=status', status: 418, text: 'teapot' },
    { name: 'a stream', path: '/show?what=stream', text: 'one two three' },
    {
      name: 'a download',
      path: '/show?what=download',
      text: 'a,b\n',
      headers: { 'content-disposition': 'attachment; filename="table.csv"' },
    },
    {
      name: 'a response',
      path: '/show?what=response',
      status: 203,
      text: 'plain',
      headers: { 'x-own': 'yes' },
    },
    { name: 'an allowed variable', path: '/show?what=env', text: '"from the host"' },
    { name: 'no file of the host', path: '/show?what=file', status: 500 },
    {
      name: 'any text',
      path: '/show?what=unicode',
      text: JSON.stringify({ text: 'grüße 🐝 \u0000 \u2028' }),
    },
    { name: 'a large answer', path: '/show?what=large', text: 'x'.repeat(1_000_000) },
    {
      name: 'parameters and query',
      path: '/users/a%20b?x=1&y=%C3%BC',
      text: '{"id":"a b","query":{"x":"1","y":"ü"},"path":"/users/a%20b"}',
    },
    { name: 'an HttpError', path: '/users/none', status: 404 },
    {
      name: 'POST with JSON',
      path: '/users/7',
      init: { method: 'POST', body: '{"a":[1,2]}', headers: JSON_BODY },
      status: 201,
      text: '{"id":"7","got":{"a":[1,2]}}',
    },
    {
      name: 'POST with what is no JSON',
      path: '/users/7',
      init: { method: 'POST', body: '{', headers: JSON_BODY },
      status: 400,
    },
    { name: 'DELETE', path: '/users/7', init: { method: 'DELETE' }, status: 204, text: '' },
    { name: 'a method that is not there', path: '/users/7', init: { method: 'PATCH' }, status: 405 },
    {
      name: 'HEAD',
      path: '/show?what=text',
      init: { method: 'HEAD' },
      text: '',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    },
    { name: 'a Hono app', path: '/app/hello', text: 'hello from hono' },
    { name: 'a Hono parameter, reset', path: '/app/users/9', text: '{"id":"9","calls":1}' },
    { name: 'a Hono parameter, reset again', path: '/app/users/9', text: '{"id":"9","calls":1}' },
    {
      name: 'a Hono POST',
      path: '/app/echo',
      init: { method: 'POST', body: '[1]', headers: JSON_BODY },
      status: 201,
      text: '[1]',
    },
    { name: 'a Hono error', path: '/app/broken', status: 500 },
    { name: 'what Hono has not', path: '/app/nowhere', status: 404 },
    {
      name: 'an npm package',
      path: '/markdown',
      init: { method: 'POST', body: 'so *much*' },
      text: '<p>so <em>much</em></p>\n',
    },
    { name: 'a module that throws at its top', path: '/broken', status: 500 },
    { name: 'a plain route beside them', path: '/plain', text: 'plain' },
  ]

  test('isolated handlers answer as others do', async () => {
    for (const row of ROWS) {
      const answer = await site.ask(row.path, row.init)
      assertEquals(toRow(row, answer), toWanted(row), row.name)
    }
  })

  test('every byte of a body comes and goes', async () => {
    const { router } = site
    const all = Uint8Array.from({ length: 256 }, (_, index) => index)
    const got = await router.fetch(new Request('http://localhost/show?what=bytes'))
    assertEquals(await got.bytes(), all)
    for (const size of [0, 1, 65_535, 65_536, 65_537, 1_000_000]) {
      const body = Uint8Array.from({ length: size }, (_, index) => (index * 31) & 255)
      const back = await router.fetch(new Request('http://localhost/users/7', { method: 'PUT', body }))
      assertEquals(back.status, 200)
      assert((await back.bytes()).every((byte, index) => byte === body[index]), `${size} bytes`)
    }
    const tooLarge = new Request('http://localhost/users/7', {
      method: 'PUT',
      body: new Uint8Array(1_100_000),
    })
    assertEquals((await router.fetch(tooLarge)).status, 413)
  })

  test('cookies and sessions are kept by the host', async () => {
    const { headers } = await site.ask('/show?what=cookies', { headers: { cookie: 'old=value' } })
    const [fresh, old] = headers.getSetCookie()
    assertEquals(fresh, 'fresh=value; HttpOnly; Path=/')
    assertStringIncludes(old, 'old=;')
    let cookie = ''
    for (let visits = 0; visits < 3; visits++) {
      const answer = await site.ask('/show?what=session', { headers: { cookie } })
      assertEquals(answer.text, `{"visits":${visits}}`)
      cookie = answer.headers.getSetCookie()[0].split(';')[0]
    }
    const ended = await site.ask('/show?what=end_session', { headers: { cookie } })
    assertEquals(ended.status, 204)
    assertStringIncludes(ended.headers.getSetCookie()[0], 'session=;')
  })

  test('an error names the line of the user in development', async () => {
    const { text } = await site.ask('/app/broken', { headers: { accept: 'text/html' } })
    assert(!text.includes('program.js'), 'the bundle shows')
    const broken = await site.ask('/broken', { headers: { accept: 'text/html' } })
    assertStringIncludes(broken.text, 'broken.ts')
    assertStringIncludes(broken.text, 'the top of the module failed')
    const [, marked] = /<mark>([^]*?)<\/mark>/.exec(broken.text)!
    assertStringIncludes(marked, 'throw new Error(')
  })

  test('requests at once get their own answers', async () => {
    const ids = Array.from({ length: 200 }, (_, index) => `user-${index}`)
    const answers = await Promise.all(ids.map((id) => site.ask(`/users/${id}`)))
    assertEquals(answers.map(({ text }) => JSON.parse(text).id), ids)
  })

  function toRow({ text, headers = {} }: Row, answer: Answer) {
    const names = Object.keys(headers)
    return {
      status: answer.status,
      ...(text === undefined ? {} : { text: answer.text }),
      headers: Object.fromEntries(names.map((name) => [name, answer.headers.get(name)])),
    }
  }

  function toWanted({ status = 200, text, headers = {} }: Row) {
    return { status, ...(text === undefined ? {} : { text }), headers }
  }
}
