import { assert, assertEquals, assertMatch, assertStringIncludes } from '@std/assert'
import { TemplateError } from '@mayfly/mayfly'
import { testCases, testSite } from './cases.ts'
import { exchange, toRequest } from './raw_client.ts'
import { defineSite } from './site.ts'

function fails(): never {
  throw new Error('SECRET in a filter')
}

const site = defineSite({ filters: { fails } })
const HTML = { 'content-type': 'text/html; charset=utf-8' }
const FOOT = '<footer>t</footer>\n\n'

testCases('ctx.render', site, [
  {
    name: 'renders a view, escaped, with its partial',
    request: 'GET /view/page',
    status: 200,
    has: HTML,
    text: '<h1>a &amp; b</h1><i>1</i><i>2</i><i>3</i><footer>a &amp; b</footer>\n\n',
  },
  {
    name: 'takes status and headers',
    request: 'GET /view/status',
    status: 201,
    has: { ...HTML, 'x-a': '1' },
    text: `<h1>t</h1>${FOOT}`,
  },
  { name: 'takes what was set', request: 'GET /view/set', status: 200, has: { ...HTML, 'x-a': 'set' } },
  {
    name: 'HEAD has the length of GET',
    request: 'HEAD /view/page',
    status: 200,
    has: { ...HTML, 'content-length': '70' },
  },
  {
    name: 'streams',
    request: 'GET /view/streamed',
    status: 200,
    has: { ...HTML, 'transfer-encoding': 'chunked' },
    text: '<h1>streamed</h1><i>1</i><i>2</i><i>3</i><footer>streamed</footer>\n\n',
  },
  {
    name: 'a view that is missing is 500',
    request: 'GET /view/missing',
    status: 500,
    text: /^(?!.*(nowhere|views))/s,
  },
  {
    name: 'a view outside its folder is 500',
    request: 'GET /view/outside',
    status: 500,
    text: /^(?!.*echo)/s,
  },
  {
    name: 'a view that does not compile is 500',
    request: 'GET /view/broken',
    status: 500,
    text: /^(?!.*never closed)/s,
  },
  {
    name: 'a view that fails late is 500 when whole',
    request: 'GET /view/late',
    status: 500,
    text: /^(?!.*(early|SECRET))/s,
  },
])

testSite('ctx.render: a streamed view that fails late breaks the transfer', site, async ({ address }) => {
  const [response] = await exchange(address, toRequest('GET /view/late-streamed'))
  assertEquals(response.status, 200)
  assertEquals(response.complete, false)
  assert(!response.text.includes('SECRET'))
})

testSite(
  'ctx.render: a template error names file, line and column for the listener',
  site,
  async ({ address, errors }) => {
    errors.length = 0
    await exchange(address, toRequest('GET /view/broken'))
    assert(errors[0] instanceof TemplateError, String(errors[0]))
    assertMatch(String(errors[0]), /broken\.dve/)
  },
)

testSite(
  'ctx.render: the development page shows the template',
  defineSite({ environment: 'development' }),
  async ({ address }) => {
    const [page] = await exchange(address, toRequest('GET /view/broken'))
    assertEquals(page.status, 500)
    assertStringIncludes(page.text, 'broken.dve')
  },
)

testSite(
  'ctx.render: without viewsDir it says what is missing',
  defineSite({ viewsDir: undefined }),
  async ({ address, errors }) => {
    const [response] = await exchange(address, toRequest('GET /view/page'))
    assertEquals(response.status, 500)
    assertMatch(String(errors[0]), /viewsDir/)
  },
)
