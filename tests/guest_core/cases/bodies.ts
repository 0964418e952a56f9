import { type Cases, caught, type Web } from './case.ts'

type Reader = 'text' | 'json' | 'arrayBuffer' | 'bytes' | 'blob' | 'formData'

const INITS: Readonly<Record<string, (web: Web) => BodyInit>> = {
  text: () => 'aé\ud800',
  bytes: () => new Uint8Array([1, 2, 3]).subarray(1),
  buffer: () => new Uint8Array([4, 5]).buffer,
  view: () => new DataView(new Uint8Array([6, 7, 8]).buffer, 1),
  query: ({ URLSearchParams }) => new URLSearchParams({ a: 'b c', é: '&' }),
  blob: ({ Blob }) => new Blob(['x', new Uint8Array([121])], { type: 'Text/X' }),
  'blob without type': ({ Blob }) => new Blob(['x']),
  number: () => 12 as unknown as string,
}

export const BODIES: Cases = {
  'Response: Content-Type and bytes of each body': async (web) => {
    const results: unknown[] = []
    for (const [name, make] of Object.entries(INITS)) {
      const response = new web.Response(make(web))
      results.push([name, response.headers.get('content-type'), await response.bytes()])
    }
    return results
  },
  'Response: a Content-Type that is given stays': (
    { Response },
  ) => [...new Response('x', { headers: { 'Content-Type': 'a/b' } }).headers],
  'Response: without a body': async ({ Response }) => {
    const empty = new Response()
    return [empty.body, empty.bodyUsed, await empty.text(), empty.bodyUsed, await empty.text(), [
      ...new Response(null).headers,
    ], [...new Response('').headers]]
  },
  'Response: defaults': ({ Response }) => {
    const { type, url, redirected, status, ok, statusText, bodyUsed } = new Response('x')
    return { type, url, redirected, status, ok, statusText, bodyUsed }
  },
  'Response: statuses': (web) =>
    [199, 200, 299, 300, 599, 600, 0, -1, 65_736, '201', 204.9, NaN].map((status) =>
      caught(web, () => {
        const response = new web.Response(null, { status: status as number })
        return [response.status, response.ok]
      })
    ),
  'Response: statuses without a body': (web) =>
    [204, 205, 304, 200].map((status) => [
      caught(web, () => new web.Response('', { status }).status),
      caught(web, () => new web.Response(null, { status }).status),
      caught(web, () => new web.Response(undefined, { status }).status),
    ]),
  'Response: status texts': (web) =>
    ['Fine', '', 'é', 'a\nb', '\u0100', 'a\tb'].map((statusText) =>
      caught(web, () => new web.Response(null, { statusText }).statusText)
    ),
  'Response.json': async (web) => {
    const { Response } = web
    const response = Response.json({ a: [1, null, 'é'] }, { status: 201, headers: { x: 'y' } })
    return [
      response.status,
      [...response.headers],
      await response.text(),
      [...Response.json(1, { headers: { 'content-type': 'a/b' } }).headers],
      caught(web, () => Response.json(undefined)),
      caught(web, () => Response.json(Symbol('x'))),
      caught(web, () => Response.json(1, { status: 204 })),
      await Response.json(null).json(),
    ]
  },
  'Response.redirect': (web) => [
    [...web.Response.redirect('http://a/b c').headers],
    web.Response.redirect('http://a').status,
    ...[301, 307, 200, 304].map((status) =>
      caught(web, () => web.Response.redirect('http://a', status).status)
    ),
    caught(web, () => web.Response.redirect('/x').status),
    caught(web, () => web.Response.redirect('http://a').headers.set('a', 'b')),
  ],
  'Response.error': (web) => {
    const response = web.Response.error()
    return [
      response.type,
      response.status,
      response.ok,
      [...response.headers],
      caught(web, () => response.headers.append('a', 'b')),
    ]
  },
  'Response: a body is read once': async (web) => {
    const response = new web.Response('x')
    return [
      response.bodyUsed,
      await response.text(),
      response.bodyUsed,
      await caught(web, () => response.text()),
      await caught(web, () => response.json()),
      caught(web, () => response.clone()),
    ]
  },
  'Response: clone': async ({ Response }) => {
    const first = new Response('abc', { status: 201, statusText: 'Made', headers: { a: 'b' } })
    const second = first.clone()
    second.headers.set('a', 'c')
    return [
      first.headers.get('a'),
      second.status,
      second.statusText,
      await first.text(),
      first.bodyUsed,
      second.bodyUsed,
      await second.text(),
    ]
  },
  'Response: clone of a stream': async ({ Response, ReadableStream }) => {
    const first = new Response(
      new ReadableStream({
        pull(controller) {
          controller.enqueue(new Uint8Array([97, 98]))
          controller.close()
        },
      }),
    )
    const second = first.clone()
    return [await first.text(), await second.text()]
  },
  'Response: json that is none': (web) => caught(web, () => new web.Response('{').json()),
  'Response: json with a byte order mark': ({ Response }) =>
    new Response(new Uint8Array([0xef, 0xbb, 0xbf, 0x31])).json(),
  'Response: text of malformed bytes': ({ Response }) =>
    new Response(new Uint8Array([0xef, 0xbb, 0xbf, 0xff, 0x61])).text(),
  'Response: bytes are a copy': ({ Response }) => {
    const source = new Uint8Array([1, 2])
    const response = new Response(source)
    source[0] = 9
    return response.bytes()
  },
  'Response: blob': async ({ Response }) => {
    const blob = await new Response('abc', { headers: { 'content-type': 'Text/Plain; Charset="utf-8"' } })
      .blob()
    return [
      blob.type,
      blob.size,
      await blob.text(),
      (await new Response('x', { headers: { 'content-type': 'bad' } }).blob()).type,
    ]
  },
  'Response: of a stream': async ({ Response, ReadableStream }) => {
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array([97]))
        controller.enqueue(new Uint8Array([98]))
        controller.close()
      },
    })
    const response = new Response(stream)
    return [
      [...response.headers],
      response.body === stream,
      response.bodyUsed,
      await response.text(),
      response.bodyUsed,
    ]
  },
  'Response: of a stream that was read': async (web) => {
    const stream = new web.ReadableStream()
    const reader = stream.getReader()
    const locked = caught(web, () => new web.Response(stream).status)
    reader.releaseLock()
    await stream.cancel()
    return [locked, caught(web, () => new web.Response(stream).status)]
  },
  'Response: of a stream of text': (web) =>
    caught(web, () =>
      new web.Response(
        new web.ReadableStream({
          start(controller) {
            controller.enqueue('text' as unknown as Uint8Array<ArrayBuffer>)
            controller.close()
          },
        }),
      ).text()),
  'Response: body is a stream of bytes': async ({ Response, ReadableStream }) => {
    const response = new Response('abc')
    const { body } = response
    const chunks: number[] = []
    for await (const chunk of body!) chunks.push(...chunk)
    return [body instanceof ReadableStream, body === response.body, chunks, response.bodyUsed]
  },
  'Response: a reader locks the body': async (web) => {
    const response = new web.Response('abc')
    const reader = response.body!.getReader()
    const locked = [
      response.bodyUsed,
      await caught(web, () => response.text()),
      caught(web, () => response.clone()),
    ]
    reader.releaseLock()
    return [locked, await response.text()]
  },
  'Response: formData of a query': async ({ Response, URLSearchParams }) => [
    ...await new Response(new URLSearchParams('a=1&b=%C3%A9+x&a=2')).formData(),
  ],
  'Response: formData, there and back': async ({ Response, FormData, Blob, File }) => {
    const form = new FormData()
    form.append('text', 'line\nbreak')
    form.append('näme"', 'é')
    form.append('blob', new Blob(['b'], { type: 'a/b' }))
    form.append('file', new File(['f'], 'fü.txt'))
    const response = new Response(form)
    const type = response.headers.get('content-type')!
    const entries: unknown[] = []
    for (const [name, value] of await response.formData()) {
      entries.push([name, typeof value === 'string' ? value : [value.name, value.type, await value.text()]])
    }
    return [type.replace(/=.*/, ''), entries]
  },
  'Response: formData of multipart': async (web) => {
    const parts = (body: string, type = 'multipart/form-data; boundary=B') =>
      caught(web, async () => {
        const form = await new web.Response(body, { headers: { 'content-type': type } }).formData()
        return Promise.all(
          [...form].map(async (
            [name, value],
          ) => [name, typeof value === 'string' ? value : [value.name, value.type, await value.text()]]),
        )
      })
    return [
      await parts('--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--B--\r\n'),
      await parts(
        'before\r\n--B  \r\ncontent-disposition: form-data; name=a; filename="x;y"\r\nContent-Type: t/u\r\n\r\n\r\n--B--'
          .replace('x;y', 'xy'),
      ),
      await parts('--C--', 'multipart/form-data; boundary="C"'),
      await parts(
        '--B\r\nX: y\r\n\r\nnameless\r\n--B\r\nContent-Disposition: form-data; name="b"\r\n\r\n--Bx\r\n--B--',
      ),
      await parts('nothing'),
      await parts('x', 'multipart/form-data'),
      await parts('x', 'text/plain'),
      await parts('a=1', 'application/x-www-form-urlencoded; charset=utf-8'),
    ]
  },
  'Response: formData without a type': (web) =>
    caught(web, () => new web.Response(new Uint8Array(1)).formData()),
  'Response: init that is no object': (
    web,
  ) => [
    caught(web, () => new web.Response('x', 1 as unknown as ResponseInit)),
    new web.Response('x', null as unknown as ResponseInit).status,
  ],
  'Response: headers of init are checked': (web) =>
    caught(web, () => new web.Response('x', { headers: { 'a b': 'c' } })),
  'Response: a Response as init': ({ Response }) => {
    const first = new Response('x', { status: 202, headers: { a: 'b' } })
    const second = new Response('y', first)
    second.headers.set('a', 'c')
    return [second.status, [...second.headers], first.headers.get('a')]
  },
  'Response: every reader of every body': async (web) => {
    const results: unknown[] = []
    for (const body of ['', '1', '"a"']) {
      for (const reader of ['text', 'json', 'arrayBuffer', 'bytes', 'blob'] as Reader[]) {
        const read = await caught(web, () => new web.Response(body)[reader]())
        results.push(read instanceof web.Blob ? [read.type, await read.text()] : read)
      }
    }
    return results
  },
  'Response: of an async iterable': ({ Response }) =>
    new Response((async function* () {
      yield new Uint8Array([97])
      yield await Promise.resolve(new Uint8Array([98]))
    })() as unknown as BodyInit).text(),
  'Response: the look of the interface': ({ Response }) => [
    Object.prototype.toString.call(new Response()),
    Object.keys(new Response()),
    Object.getOwnPropertyDescriptor(Response.prototype, 'status')!.enumerable,
    Response.name,
  ],
}
