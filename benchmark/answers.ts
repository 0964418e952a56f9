/** What every server must answer before it is timed. Written apart from the servers. */

/** An answer that counts. */
export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

const JSON_TYPE = 'application/json'
const HTML_TYPE = 'text/html; charset=utf-8'
const HELLO = '{"hello":"world!"}'
const SUM = `{"value":${
  Array.from({ length: 50_000 }, (_, i) => Math.sqrt(i)).reduce((sum, root) => sum + root, 0)
}}`

function ok(type: string, body: string): Answer {
  return { status: 200, type, body }
}

function eachMeta(): string {
  return `[${[...Array(50).keys()].map((i) => `${i}/50=${i + 1}`).join(' ')}]\n`
}

function people(): string {
  const one = (id: number) =>
    `{"id":${id},"name":"Person ${id}","email":"person.${id}@example.org","tags":["member","${
      ['even', 'odd'][id % 2]
    }"]}`
  return `[${[...Array(120).keys()].map(one).join(',')}]`
}

/** The answer to each route. */
export const ANSWERS: Readonly<Record<string, Answer>> = {
  '/test': ok(JSON_TYPE, HELLO),
  '/test-cpu': ok(JSON_TYPE, SUM),
  '/test-worker': ok(JSON_TYPE, SUM),
  '/test-view': ok(HTML_TYPE, '<p>Hello, Ada &amp; Co., welcome to Mayfly!</p>\n'),
  '/test-view-each-meta': ok(HTML_TYPE, eachMeta()),
  '/test-view-include': ok(HTML_TYPE, '<p>Hello, Ada &amp; Co., from a partial</p>\n\n'),
  '/test-view-expr': ok(HTML_TYPE, '<p>Ada &amp; Co. may edit 7 pages</p>\n'),
  '/test-isolated': ok(JSON_TYPE, HELLO),
  '/test-isolated-cpu': ok(JSON_TYPE, SUM),
  '/test-isolated-json': ok(JSON_TYPE, people()),
  '/test-isolated-render': ok(HTML_TYPE, eachMeta()),
  '/test-isolated-core': ok(JSON_TYPE, HELLO),
  '/test-isolated-core-json': ok(JSON_TYPE, people()),
  '/test-isolated-core-render': ok(HTML_TYPE, eachMeta()),
  '/test-isolated-core-cpu': ok(JSON_TYPE, SUM),
  '/test-isolated-kept': ok(JSON_TYPE, HELLO),
  '/test-isolated-hono/hello': ok(JSON_TYPE, HELLO),
  '/test-fresh-worker': ok(JSON_TYPE, HELLO),
  '/test-fresh-process': ok(JSON_TYPE, HELLO),
}

/** Why `response` is not the answer to `route`, or undefined when it is. Header values are compared without case. */
export async function findFault(route: string, response: Response): Promise<string | undefined> {
  const { status, type, body } = ANSWERS[route]
  const text = await response.text()
  if (response.status !== status) return `status ${response.status}, want ${status}`
  const found = response.headers.get('content-type')
  if (found?.toLowerCase() !== type) return `content-type ${found}, want ${type}`
  if (text !== body) {
    return `body ${JSON.stringify(text.slice(0, 200))}, want ${JSON.stringify(body.slice(0, 200))}`
  }
  return undefined
}
