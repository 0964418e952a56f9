import { assertEquals, assertThrows } from '@std/assert'
import { HttpRequests } from '../../src/reach/guest/http_requests.ts'

/** What a reader tells of a text that comes in parts of so many bytes. */
function read(text: string, size = text.length): string[] {
  const told: string[] = []
  let body = ''
  const requests = new HttpRequests({
    head: ({ method, target, headers, length }) => {
      body = ''
      told.push(`${method} ${target} ${headers.map((pair) => pair.join('=')).join(' ')} ${length}`)
    },
    chunk: (bytes) => void (body += new TextDecoder().decode(bytes)),
    end: () => void told.push(body),
  })
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += size) requests.push(bytes.subarray(at, at + size))
  return told
}

Deno.test('requests of HTTP/1.1 are read, one after the other, however they are cut', () => {
  const text = 'GET /a?b HTTP/1.1\r\nHost: x\r\nX-Two:  a b \r\n\r\n' +
    'POST /c HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello' +
    '\r\nPUT /d HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n' +
    'HEAD / HTTP/1.0\r\n\r\n'
  for (const size of [1, 2, 3, 7, 64, text.length]) {
    assertEquals(read(text, size), [
      'GET /a?b host=x x-two=a b 0',
      '',
      'POST /c content-length=5 5',
      'hello',
      'PUT /d transfer-encoding=chunked chunked',
      'abc0123456789',
      'HEAD /  0',
      '',
    ])
  }
})

Deno.test('what is no request of HTTP/1.1 is refused, and no head grows without end', () => {
  for (
    const text of [
      'SSH-2.0-x\r\n\r\n',
      'GET /\r\n\r\n',
      'GET / HTTP/2.0\r\n\r\n',
      'GET / HTTP/1.1\r\nno colon\r\n\r\n',
      'GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n',
      'GET / HTTP/1.1\r\ncontent-length: x\r\n\r\n',
      'PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
      'PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n123456789\r\n',
      `PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n${' '.repeat(2000)}`,
      `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(20_000)}`,
      'x'.repeat(70_000),
    ]
  ) assertThrows(() => read(text), TypeError, 'Cannot send a request', text.slice(0, 80))
})
