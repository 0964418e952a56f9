import { type Cases, caught } from './case.ts'

const SETTINGS = [
  'redirect',
  'cache',
  'credentials',
  'mode',
  'integrity',
  'keepalive',
  'referrer',
  'referrerPolicy',
] as const

export const REQUESTS: Cases = {
  'Request: defaults': ({ Request, AbortSignal }) => {
    const request = new Request('http://A/b c#d')
    return [
      request.method,
      request.url,
      [...request.headers],
      request.body,
      request.bodyUsed,
      request.signal instanceof AbortSignal,
      request.signal.aborted,
      request.signal === request.signal,
    ]
  },
  'Request: settings': ({ Request }) => {
    const request = new Request('http://a')
    return SETTINGS.map((name) => [name, request[name]])
  },
  'Request: methods': (web) =>
    ['get', 'Post', 'patch', 'PATCH', 'delete', 'options', 'x-y', 'CONNECT', 'trace', 'Track', '', 'a b', 'é']
      .map((method) => caught(web, () => new web.Request('http://a', { method }).method)),
  'Request: URLs': (web) =>
    [
      'http://a',
      'x',
      '',
      'http://u:p@a',
      'http://u@a',
      'data:,x',
      new web.URL('http://b/c') as unknown as string,
    ].map((url) => caught(web, () => new web.Request(url).url)),
  'Request: bodies and their types': async ({ Request, URLSearchParams }) => {
    const text = new Request('http://a', { method: 'POST', body: 'x' })
    const query = new Request('http://a', { method: 'PUT', body: new URLSearchParams('a=b') })
    return [[...text.headers], await text.text(), text.bodyUsed, [...query.headers], await query.text()]
  },
  'Request: GET and HEAD have no body': (web) =>
    ['GET', 'HEAD', 'get'].map((method) =>
      caught(web, () => new web.Request('http://a', { method, body: '' }))
    ),
  'Request: null is no body': async ({ Request }) => {
    const request = new Request('http://a', { method: 'POST', body: null })
    return [request.body, await request.text(), [...request.headers]]
  },
  'Request: of another': async (web) => {
    const first = new web.Request('http://a/x', { method: 'POST', body: 'abc', headers: { x: '1' } })
    const second = new web.Request(first, { headers: { y: '2' } })
    return [
      first.bodyUsed,
      second.bodyUsed,
      second.method,
      second.url,
      [...second.headers],
      await second.text(),
      await caught(web, () => first.text()),
    ]
  },
  'Request: of another, with a body of its own': async ({ Request }) => {
    const first = new Request('http://a/x', { method: 'POST', body: 'abc' })
    const second = new Request(first, { body: 'def' })
    return [first.bodyUsed, await first.text(), await second.text()]
  },
  'Request: of one that was read': async (web) => {
    const first = new web.Request('http://a/x', { method: 'POST', body: 'abc' })
    await first.text()
    return caught(web, () => new web.Request(first))
  },
  'Request: of a stream, and another of that': async ({ Request, ReadableStream }) => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array([97, 98]))
        controller.close()
      },
    })
    const first = new Request('http://a', { method: 'POST', body, duplex: 'half' } as RequestInit)
    const second = new Request(first)
    return [first.bodyUsed, await second.text()]
  },
  'Request: clone': async (web) => {
    const first = new web.Request('http://a', { method: 'POST', body: 'abc', headers: { a: 'b' } })
    const second = first.clone()
    second.headers.set('a', 'c')
    return [
      first.headers.get('a'),
      await second.text(),
      await first.text(),
      second.method,
      caught(web, () => first.clone()),
    ]
  },
  'Request: its signal follows': ({ Request, AbortController }) => {
    const controller = new AbortController()
    const request = new Request('http://a', { signal: controller.signal })
    const copy = request.clone()
    const other = new Request(request)
    controller.abort('why')
    return [
      request.signal.aborted,
      request.signal.reason,
      copy.signal.aborted,
      other.signal.reason,
      request.signal === controller.signal,
    ]
  },
  'Request: a signal that is none': (web) =>
    caught(web, () => new web.Request('http://a', { signal: {} as AbortSignal })),
  'Request: settings that are given': (web) => [
    new web.Request('http://a', { redirect: 'manual' }).redirect,
    caught(web, () => new web.Request('http://a', { redirect: 'x' as RequestRedirect })),
  ],
  'Request: json and form': async ({ Request }) => {
    const json = await new Request('http://a', { method: 'POST', body: '{"a":[1]}' }).json()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const form = await new Request('http://a', { method: 'POST', body: 'a=1&b=2', headers }).formData()
    return [json, [...form]]
  },
  'Request: the look of the interface': (web) => [
    Object.prototype.toString.call(new web.Request('http://a')),
    Object.keys(new web.Request('http://a')),
    caught(web, () => new (web.Request as unknown as new () => Request)()),
    web.Request.name,
  ],
  'Blob: parts, slices, types': async ({ Blob }) => {
    const blob = new Blob(['aé', new Uint8Array([98, 99]), new Blob(['d'])], { type: 'A/B' })
    const slices = [blob.slice(1), blob.slice(-2), blob.slice(1, 3), blob.slice(9), blob.slice(0, -1, 'X/Y')]
    return [
      blob.size,
      blob.type,
      await blob.text(),
      await Promise.all(slices.map(async (slice) => [slice.size, slice.type, await slice.text()])),
    ]
  },
  'Blob: odd types and parts': async (web) => [
    new web.Blob([], { type: 'é' }).type,
    await new web.Blob([1, null, {}] as unknown as string[]).text(),
    caught(web, () => new web.Blob('abc' as unknown as string[])),
    await new web.Blob(['\ud800']).bytes(),
  ],
  'Blob: its stream': async ({ Blob }) => {
    const bytes: number[] = []
    for await (const chunk of new Blob(['abc']).stream()) bytes.push(...chunk)
    return bytes
  },
  'File: attributes': ({ File, Blob }) => {
    const file = new File(['x'], 'a/b.txt', { type: 't/u', lastModified: 5 })
    return [
      file.name,
      file.type,
      file.size,
      file.lastModified,
      file instanceof Blob,
      Object.prototype.toString.call(file),
      File.name,
    ]
  },
  'FormData: methods': async (web) => {
    const form = new web.FormData()
    form.append('a', '1')
    form.append('b', 'x')
    form.append('a', '2')
    form.set('b', new web.Blob(['z']), 'n.txt')
    form.append('c', new web.Blob([]))
    const file = form.get('b') as File
    const first = [
      form.get('a'),
      form.getAll('a'),
      form.has('z'),
      form.get('z'),
      file.name,
      await file.text(),
      (form.get('c') as File).name,
    ]
    form.set('a', '9')
    form.delete('c')
    return [first, [...form.keys()], form.getAll('a'), caught(web, () => form.append('x', 'y', 'z'))]
  },
}
