import { assertEquals } from '@std/assert'
import { hostOf, HostTable, toPattern } from '../../src/tenants/hosts.ts'

Deno.test('a host is that of the URL, without port, case and last dot', () => {
  for (
    const [authority, host] of [
      ['acme.localhost', 'acme.localhost'],
      ['ACME.Localhost:8000', 'acme.localhost'],
      ['acme.localhost.', 'acme.localhost'],
      ['acme.localhost.:80', 'acme.localhost'],
      ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
      ['[::1]:8000', '[::1]'],
      ['127.0.0.1', '127.0.0.1'],
      ['a_b.example', 'a_b.example'],
    ] as const
  ) assertEquals(hostOf(`http://${authority}/a?b`, authority), host, authority)
  // The absolute form in a request line, and `:authority` of HTTP/2, which has no Host header.
  assertEquals(hostOf('https://one.example/x', 'two.example'), 'one.example')
  assertEquals(hostOf('https://one.example/x', null), 'one.example')
})

Deno.test('a Host header that is no plain name is nobody’s', () => {
  const hostile = [
    ...[
      '',
      ' ',
      'a b',
      'a/b',
      'a\\b',
      'x@acme.localhost',
      'acme.localhost?x',
      'acme.localhost#x',
      '%61cme.localhost',
    ],
    ...[
      'acme..localhost',
      '.acme.localhost',
      'acme.localhost..',
      '-a',
      'a-',
      'acme.localhost:80:80',
      'acme.localhost:999999',
    ],
    ...[
      'b\u00fccher.example',
      'acme.localhost,evil',
      '[::1',
      '[x]',
      '*',
      '*.localhost',
      '__proto__ ',
      'a'.repeat(254),
    ],
    'a.'.repeat(40_000),
  ]
  for (const header of hostile) assertEquals(hostOf(`http://${header}/`, header), null, header.slice(0, 40))
  // What the URL says does not save it.
  assertEquals(hostOf('http://acme.localhost/admin/', 'acme.localhost/admin'), null)
  assertEquals(hostOf('no url', null), null)
})

Deno.test('patterns are names, wildcards and IDNs, and nothing else', () => {
  for (
    const [text, pattern] of [
      ['Example.COM', 'example.com'],
      ['*.Example.com', '*.example.com'],
      ['*', '*'],
      ['bücher.example', 'xn--bcher-kva.example'],
      ['*.bücher.example', '*.xn--bcher-kva.example'],
      ['example.com.', 'example.com'],
      ['[::1]', '[::1]'],
      ['a:80', null],
      ['a.*.b', null],
      ['*a.b', null],
      ['**', null],
      ['*.', null],
      ['', null],
      ['a/b', null],
      ['a b', null],
      ['x@b', null],
    ] as const
  ) assertEquals(toPattern(text), pattern, text)
})

Deno.test('the most specific pattern has the host', () => {
  const table = new HostTable<string>()
  for (const pattern of ['*', '*.example.com', 'www.example.com', '*.a.example.com', 'example.com']) {
    assertEquals(table.claim(pattern, pattern), undefined)
  }
  assertEquals(table.claim('*', 'another'), '*')
  for (
    const [host, pattern] of [
      ['www.example.com', 'www.example.com'],
      ['example.com', 'example.com'],
      ['b.example.com', '*.example.com'],
      ['b.c.example.com', '*.example.com'],
      ['a.example.com', '*.example.com'],
      ['b.a.example.com', '*.a.example.com'],
      ['other.org', '*'],
      ['com', '*'],
      ['__proto__', '*'],
    ]
  ) assertEquals(table.find(host!), pattern, host)
  assertEquals(new HostTable<string>().find('constructor'), undefined)
})
