import { assertEquals, assertThrows } from '@std/assert'
import { toLocation } from '../../src/context/redirect.ts'

const BASE = 'https://app.example/shop/cart?x=1'

const TARGETS: [target: string, location: string][] = [
  ['/login', '/login'],
  ['next', '/shop/next'],
  ['../up?a=b#c', '/up?a=b#c'],
  ['?page=2', '/shop/cart?page=2'],
  ['', '/shop/cart?x=1'],
  ['https://other.example/a', 'https://other.example/a'],
  ['http://app.example/', 'http://app.example/'],
  ['/a//b', '/a//b'],
  ['https:evil.example', '/shop/evil.example'],
  ['/ünïcode', '/%C3%BCn%C3%AFcode'],
]

for (const [target, location] of TARGETS) {
  Deno.test(`toLocation accepts ${JSON.stringify(target)}`, () => {
    assertEquals(toLocation(target, BASE, 302), location)
  })
}

const REFUSED = [
  '//evil.example/',
  '\\\\evil.example/',
  '/\\evil.example/',
  '/\t/evil.example',
  ' //evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'ftp://evil.example',
  '/a\r\nset-cookie: x=1',
  'http://',
]

for (const target of REFUSED) {
  Deno.test(`toLocation refuses ${JSON.stringify(target)}`, () => {
    assertThrows(() => toLocation(target, BASE, 302), TypeError, 'Cannot redirect')
  })
}

Deno.test('toLocation takes the five redirect statuses only', () => {
  for (const status of [301, 302, 303, 307, 308]) assertEquals(toLocation('/', BASE, status), '/')
  for (const status of [200, 300, 304, 305, 306, 309, 400]) {
    assertThrows(() => toLocation('/', BASE, status), RangeError, String(status))
  }
})
