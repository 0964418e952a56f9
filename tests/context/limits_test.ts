/** A request and a response hold a bounded number of each thing; one more is refused with words that say so. */
import { assertEquals, assertRejects, assertThrows } from '@std/assert'
import { HttpError } from '@mayfly/mayfly'
import { checkForm } from '../../src/context/form_bounds.ts'
import {
  countUpTo,
  MAX_COOKIES,
  MAX_FORM_FIELDS,
  MAX_QUERY_PARAMETERS,
  MAX_RESPONSE_HEADERS,
} from '../../src/context/limits.ts'
import { createContext } from './request.ts'

function many(count: number, make: (index: number) => string, between: string): string {
  return Array.from({ length: count }, (_, index) => make(index)).join(between)
}

Deno.test('countUpTo counts no further than it must', () => {
  assertEquals([countUpTo(5, '', ';'), countUpTo(5, 'a;b;', ';'), countUpTo(5, ';'.repeat(100), ';')], [
    0,
    2,
    6,
  ])
})

Deno.test('cookies: as many as there may be, and 431 for one more', () => {
  const of = (count: number) =>
    createContext('/', { headers: { cookie: many(count, (i) => `c${i}=v${i}`, '; ') } }).get
  assertEquals(of(MAX_COOKIES).cookie(`c${MAX_COOKIES - 1}`), `v${MAX_COOKIES - 1}`)
  const error = assertThrows(() => of(MAX_COOKIES + 1).cookie('c0'), HttpError, 'more than 256 cookies')
  assertEquals(error.status, 431)
})

Deno.test('query: as many parameters as there may be, and 414 for one more', () => {
  const of = (count: number) => createContext(`/?${many(count, (i) => `q${i}=v`, '&')}`).get
  assertEquals(Object.keys(of(MAX_QUERY_PARAMETERS).query()).length, MAX_QUERY_PARAMETERS)
  const error = assertThrows(() => of(MAX_QUERY_PARAMETERS + 1).query('q0'), HttpError, 'parameters')
  assertEquals(error.status, 414)
  assertThrows(() => of(MAX_QUERY_PARAMETERS + 1).queries('q0'), HttpError)
})

function multipart(count: number, header = ''): RequestInit {
  const fields = many(
    count,
    (i) => `--edge\r\ncontent-disposition: form-data; name="f${i}"\r\n${header}\r\nv\r\n`,
    '',
  )
  return {
    method: 'POST',
    body: `${fields}--edge--\r\n`,
    headers: { 'content-type': 'multipart/form-data; boundary=edge' },
  }
}

const FORMS: Readonly<Record<string, (count: number) => RequestInit>> = {
  urlencoded: (count) => ({ method: 'POST', body: new URLSearchParams(many(count, (i) => `f${i}=v`, '&')) }),
  multipart,
}

for (const [name, make] of Object.entries(FORMS)) {
  Deno.test(`a form, ${name}: as many fields as there may be, and 413 for one more`, async () => {
    const full = await createContext('/', make(MAX_FORM_FIELDS)).get.body() as Record<string, string>
    assertEquals([Object.keys(full).length, full[`f${MAX_FORM_FIELDS - 1}`]], [MAX_FORM_FIELDS, 'v'])
    for (const read of ['body', 'formData'] as const) {
      const error = await assertRejects(
        () => createContext('/', make(MAX_FORM_FIELDS + 1)).get[read](),
        HttpError,
        'more than 1024 fields',
      )
      assertEquals(error.status, 413)
    }
  })
}

Deno.test('a multipart form whose field has endless headers is 400', async () => {
  const long = 'x-a: b\r\n'.repeat(10_000)
  for (const init of [multipart(1, long), multipart(3, long)]) {
    const error = await assertRejects(
      () => createContext('/', init).get.formData(),
      HttpError,
      'Malformed form body',
    )
    assertEquals(error.status, 400)
  }
})

Deno.test('bytes of a file that look like headers are its content', async () => {
  const body = new FormData()
  const text = 'x: y\r\n\r\nz\r\n--'.repeat(10_000)
  body.set('file', new File([text], 'a.txt'))
  const form = await createContext('/', { method: 'POST', body }).get.formData()
  assertEquals(await (form.get('file') as File).text(), text)
})

Deno.test('names of a form that repeat are collected, and no name is special', async () => {
  const body = new URLSearchParams('a=1&b=2&a=3&__proto__=4&a=5&constructor=6')
  const record = await createContext('/', { method: 'POST', body }).get.body() as Record<string, unknown>
  assertEquals(
    { ...record },
    Object.fromEntries([['a', ['1', '3', '5']], ['b', '2'], ['__proto__', '4'], ['constructor', '6']]),
  )
})

Deno.test('ctx.set: as many headers as a response may have, and a RangeError for one more', () => {
  const ctx = createContext('/')
  for (let i = 0; i < MAX_RESPONSE_HEADERS - 2; i++) ctx.set.header(`x-${i}`, 'a')
  ctx.set.cookie('a', 'b').header('x-0', 'again').header('vary', 'accept', { append: true })
  for (
    const more of [
      () => ctx.set.header('x-more', 'a'),
      () => ctx.set.cookie('c', 'd'),
      () => ctx.set.header('x-0', 'b', { append: true }),
    ]
  ) {
    assertThrows(more, RangeError, '256 headers are set, and a response has no more')
  }
  const { headers } = ctx.send.text('a')
  assertEquals(headers.get('x-0'), 'again')
})

Deno.test('delimiters are counted wherever they stand, overlapping too', () => {
  const body = (text: string) => new TextEncoder().encode(text)
  checkForm(body('-'.repeat(1029)), '---')
  assertThrows(() => checkForm(body('-'.repeat(1030)), '---'), HttpError)
  checkForm(body('x--ab--abab'.repeat(512)), 'abab')
  assertThrows(() => checkForm(body('--aba--abab'.repeat(1026)), 'abab'), HttpError)
})
