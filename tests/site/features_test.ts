import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import type { Router } from '@mayfly/mayfly'
import { createSite } from '../../routes/_site.ts'

const ORIGIN = 'http://localhost'

function get(site: Router, path: string, init: RequestInit = {}): Promise<Response> {
  return site.fetch(new Request(ORIGIN + path, init))
}

Deno.test('createSite serves from any working directory', async () => {
  const before = Deno.cwd()
  // A folder that stays: esbuild keeps the one in which it was loaded.
  Deno.chdir('/')
  try {
    await using site = createSite({ production: true })
    assertEquals((await (await get(site, '/layouts')).text()).includes('Specimen 3 of 3'), true)
  } finally {
    Deno.chdir(before)
  }
})

Deno.test('the routing page: parameters, catch-all, optional, group, 405, 400', async () => {
  await using site = createSite({ production: true })
  assertEquals(await (await get(site, '/routing/users/a%2Fb')).json(), { user: 'a/b' })
  assertEquals(await (await get(site, '/routing/files/a/b/c.ts')).json(), { path: 'a/b/c.ts' })
  assertEquals(await (await get(site, '/routing/greet')).text(), 'Good morning, stranger\n')
  assertEquals(await (await get(site, '/routing/greet/Ada')).text(), 'Good morning, Ada\n')
  assertEquals(await (await get(site, '/routing/user-7')).json(), { id: '7' })
  assertEquals((await get(site, '/routing/cart')).status, 200)
  const refused = await get(site, '/routing/users/42', { method: 'DELETE' })
  assertEquals([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD, OPTIONS, PUT'])
  assertEquals((await get(site, '/routing/users/%zz')).status, 400)
})

Deno.test('the context page: bodies by their type', async () => {
  await using site = createSite({ production: true })
  const post = (body: string, type: string) =>
    get(site, '/context/echo', { method: 'POST', body, headers: { 'content-type': type } })
  const json = await post('{"wings":4}', 'application/json')
  assertEquals([json.status, await json.json()], [201, { body: { wings: 4 } }])
  const form = await post('wings=4', 'application/x-www-form-urlencoded')
  assertEquals(await form.json(), { body: { wings: '4' } })
  assertEquals((await post('{"wings":', 'application/json')).status, 400)
})

Deno.test('the playground renders, shows the place of an error, and holds its limits', async () => {
  await using site = createSite({ production: true })
  const attempt = async (template: string, data: string) => {
    const body = JSON.stringify({ template, data })
    const response = await get(site, '/templates', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    return await response.json() as { html?: string; error?: string }
  }
  assertEquals(
    (await attempt('{{ a }}{{> card title=a}}', '{"a":"<b>"}')).html?.startsWith('&lt;b&gt;<aside>'),
    true,
  )
  assertMatch((await attempt('a\n{{ 1 + }}', '{}')).error ?? '', /line 2, column \d+\n\{\{ 1 \+ \}\}\n +\^/)
  assertMatch((await attempt('{{ a }}', '{"a":')).error ?? '', /^The data is no JSON/)
  assertMatch((await attempt('{{ a }}', '[1]')).error ?? '', /^The data is no object/)
  assertMatch((await attempt('{{> ../index}}', '{}')).error ?? '', /Cannot/)
  const many = JSON.stringify({ a: Array(1500).fill(1) })
  assertMatch((await attempt('{{#each a as b}}{{ b }}{{/each}}', many)).error ?? '', /maxIterations/)
})

Deno.test('the playground works as a plain form and never runs what it shows', async () => {
  await using site = createSite({ production: true })
  const body = new URLSearchParams({ template: '{{{ a }}}', data: '{"a":"<script>alert(1)</script>"}' })
  const html = await (await get(site, '/templates', { method: 'POST', body })).text()
  assertStringIncludes(
    html,
    '&quot;light dark&quot;&gt;&lt;script&gt;alert(1)&lt;&#x2F;script&gt;"'.replaceAll('&#x2F;', '/'),
  )
  assert(!html.includes('<script>alert(1)'))
})

Deno.test('the streamed page arrives in parts, and leaving it ends the loop', async () => {
  await using site = createSite({ production: true })
  const response = await get(site, '/streaming')
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let chunks = 0
  let text = ''
  while (!text.includes('<td>2</td>')) {
    const { value, done } = await reader.read()
    if (done) break
    chunks++
    text += value
  }
  assert(chunks >= 3)
  assertStringIncludes(text, '<h1>Streaming</h1>')
  assert(!text.includes('<td>16</td>'))
  await reader.cancel()
})

Deno.test('the guestbook: token, validation, redirect, flash said once, forgetting', async () => {
  await using site = createSite({ production: true })
  const jar = new Map<string, string>()
  const visit = async (path: string, form?: Record<string, string>) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers: HeadersInit = cookie === '' ? {} : { cookie }
    const response = await get(site, path, {
      method: form === undefined ? 'GET' : 'POST',
      headers: { ...headers, origin: ORIGIN },
      body: form === undefined ? undefined : new URLSearchParams(form),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (value === '' || /max-age=0/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    return {
      status: response.status,
      html: await response.text(),
      location: response.headers.get('location'),
    }
  }
  const first = await visit('/guestbook')
  const token = /name="_csrf" value="([^"]+)"/.exec(first.html)![1]
  const draft = { name: '<b>Ada</b>', message: 'Hello & goodbye' }

  assertEquals((await visit('/guestbook', draft)).status, 403)
  const invalid = await visit('/guestbook', { _csrf: token, name: '', message: 'kept' })
  assertEquals(invalid.status, 422)
  assertStringIncludes(invalid.html, 'aria-describedby="name-error"')
  assertStringIncludes(invalid.html, '\nkept</textarea>')

  const signed = await visit('/guestbook', { _csrf: token, ...draft })
  assertEquals([signed.status, signed.location], [303, '/guestbook'])
  const after = await visit('/guestbook')
  assertStringIncludes(after.html, '<p class="flash" role="status">Thank you, &lt;b&gt;Ada&lt;')
  assertStringIncludes(after.html, '<p>Hello &amp; goodbye</p>')
  const again = await visit('/guestbook')
  assert(!again.html.includes('<p class="flash"'))
  assertStringIncludes(again.html, 'value="&lt;b&gt;Ada&lt;')

  const leaving =
    /action="\/guestbook\/forget">\s*<input type="hidden" name="_csrf" value="([^"]+)"/.exec(again.html)![1]
  assertEquals((await visit('/guestbook/forget', { _csrf: leaving })).status, 303)
  assert(!(await visit('/guestbook')).html.includes('<form method="post" action="/guestbook/forget">'))
})

Deno.test('the worker page: sums come back, and a full pool refuses the rest', async () => {
  await using site = createSite({ production: true })
  const run = async (tasks: number) => {
    const response = await get(site, `/workers/pool?tasks=${tasks}`, {
      method: 'POST',
      headers: { origin: ORIGIN },
    })
    return await response.json() as { status: number; ms?: number }[]
  }
  assertEquals((await run(2)).map(({ status }) => status), [200, 200])
  const statuses = (await run(40)).map(({ status }) => status)
  assertEquals(statuses.filter((status) => status === 503).length, 24)
  // On a busy machine the last that waits may wait for longer than it may.
  assertEquals(statuses.filter((status) => status === 200 || status === 504).length, 16)
})

Deno.test('the middleware page: rate limit, bearer token, validation', async () => {
  await using site = createSite({ production: true })
  assertEquals((await get(site, '/middleware/token')).status, 401)
  const headers = { authorization: 'Bearer a-day-in-may' }
  assertEquals(await (await get(site, '/middleware/token', { headers })).json(), { hello: 'bearer' })
  assertEquals((await get(site, '/middleware/order?wings=4')).status, 200)
  assertEquals((await get(site, '/middleware/order?wings=two')).status, 422)
})

Deno.test('the live feed sends the request that another visitor makes', async () => {
  await using site = createSite({ production: true })
  const response = await get(site, '/events/feed?kind=request:error')
  assertEquals(response.headers.get('content-type')?.startsWith('text/event-stream'), true)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const arriving = reader.read()
  await (await get(site, '/nowhere?secret=1')).body?.cancel()
  const { value } = await arriving
  assertStringIncludes(value ?? '', 'GET /nowhere 404')
  assert(!value?.includes('secret'))
  await reader.cancel()
})
