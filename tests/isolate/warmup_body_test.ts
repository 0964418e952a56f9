import { assertEquals, assertThrows } from '@std/assert'
import { fromBody, toBody } from '../../src/isolate/warm/warmup_body.ts'

const FORM = 'application/x-www-form-urlencoded'
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
const asTheyAre = (_name: string, value: unknown) => value

Deno.test('toBody makes what the content type says', () => {
  const cases: [type: string | undefined, body: unknown, wanted: [type: string, text: string]][] = [
    [undefined, 'a', ['text/plain; charset=utf-8', 'a']],
    [undefined, { a: [1] }, ['application/json', '{"a":[1]}']],
    [undefined, { base64: 'AAEC' }, ['application/json', '{"base64":"AAEC"}']],
    ['application/json', '{"a":', ['application/json', '{"a":']],
    ['application/merge-patch+json', { base64: 'AAEC' }, [
      'application/merge-patch+json',
      '{"base64":"AAEC"}',
    ]],
    [FORM, { a: '1 2', b: ['3', '&'] }, [FORM, 'a=1+2&b=3&b=%26']],
    [FORM, 'a=1', [FORM, 'a=1']],
    ['text/csv', 'a,b', ['text/csv', 'a,b']],
    ['image/png', { base64: 'AAEC' }, ['image/png', '\0\x01\x02']],
    ['', { base64: 'AAEC' }, ['', '\0\x01\x02']],
  ]
  for (const [type, body, wanted] of cases) {
    const made = toBody(type, body)
    assertEquals([made.type, text(made.bytes)], wanted)
  }
})

Deno.test('toBody writes multipart forms that the platform reads', async () => {
  const fields = [
    { name: 'a ä', value: 'ä' },
    { name: 'f', filename: 'x.bin', type: 'image/png', base64: 'AP8=' },
    { name: 'g', filename: 'y', value: 'text' },
  ]
  for (const type of ['multipart/form-data', 'multipart/form-data; boundary=xyz']) {
    const body = toBody(type, fields)
    const form = await new Response(body.bytes, { headers: { 'content-type': body.type } }).formData()
    assertEquals(form.get('a ä'), 'ä')
    const [file, other] = [form.get('f') as File, form.get('g') as File]
    assertEquals([file.name, file.type, [...await file.bytes()]], ['x.bin', 'image/png', [0, 255]])
    assertEquals([other.name, other.type, await other.text()], ['y', 'application/octet-stream', 'text'])
  }
})

Deno.test('toBody names what a type cannot have', () => {
  const cases: [type: string, body: unknown, wrong: string][] = [
    [FORM, 5, 'body is 5, want text or an object of text for a form'],
    [FORM, { a: 5 }, 'body is { a: 5 }, want text or an object of text'],
    [FORM, ['a'], 'body is [ "a" ]'],
    ['multipart/form-data', { a: '1' }, 'body is { a: "1" }, want an array of { name, value }'],
    [
      'multipart/form-data',
      [{ name: 'a', value: 'b' }, { value: 'x' }],
      'body[1] is { value: "x" }, want { name, value }',
    ],
    ['multipart/form-data', [{ name: 'a', value: 'b', base64: '' }], 'body[0] is'],
    ['multipart/form-data', [{ name: 'a', value: 'b', more: '' }], 'body[0] is'],
    ['multipart/form-data', [{ name: 'a', value: 'b', filename: 'c', type: 'd\r\ne: f' }], 'body[0] is'],
    ['multipart/form-data', [{ name: 'a', base64: '*' }], 'body[0].base64 is "*", want base64'],
    ['image/png', 5, 'body is undefined, want text or { base64 }'],
    ['image/png', { base64: '*' }, 'body is "*", want text or { base64 }'],
  ]
  for (const [type, body, wrong] of cases) assertThrows(() => toBody(type, body), TypeError, wrong)
})

Deno.test('fromBody gives what toBody makes the same of', async () => {
  const bodies: [type: string, value: unknown][] = [
    ['application/json', { a: [1, null, { b: 'ä' }] }],
    [FORM, { a: '1 2', b: ['3', '&'] }],
    ['text/csv', 'a,b'],
    ['image/png', { base64: 'AP8=' }],
    ['', 'text'],
    ['multipart/form-data', [
      { name: 'a', value: 'ä' },
      { name: 'f', filename: 'x.bin', type: 'image/png', base64: 'AP8=' },
    ]],
  ]
  for (const [type, value] of bodies) {
    assertEquals(await fromBody(toBody(type, value), asTheyAre), value, type)
  }
  const bytes = new TextEncoder().encode('{"a":')
  assertEquals(await fromBody({ type: 'application/json', bytes }, asTheyAre), '{"a":')
  assertEquals(await fromBody({ type: 'multipart/form-data; boundary=x', bytes }, asTheyAre), undefined)
})

Deno.test('fromBody hides what it is told to, wherever the name stands', async () => {
  const hide = (name: string, value: unknown) => name === 'secret' ? 'hidden' : value
  const bodies: [type: string, value: unknown, hidden: unknown][] = [
    ['application/json', { a: [{ secret: { b: 1 } }] }, { a: [{ secret: 'hidden' }] }],
    [FORM, { secret: ['1', '2'], a: '3' }, { secret: ['hidden', 'hidden'], a: '3' }],
    ['multipart/form-data', [{ name: 'secret', value: '1' }], [{ name: 'secret', value: 'hidden' }]],
  ]
  for (const [type, value, hidden] of bodies) {
    assertEquals(await fromBody(toBody(type, value), hide), hidden, type)
  }
})
