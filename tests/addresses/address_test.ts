/** Addresses are read as ipaddr.js reads them, in the forms that resolvers and the URL standard write. */
import { assertEquals } from '@std/assert'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { formatAddress, isIn, parseAddress, parseRange, unmap } from '../../src/addresses/address.ts'

/** As ipaddr.js reads it, without the forms of IPv4 that are short, octal or hexadecimal. */
function toKnown(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return undefined
  return ipaddr.parse(text)
}

const v4 = fc.ipV4()
const v6 = fc.oneof(
  fc.ipV6(),
  fc.array(fc.constantFrom('0', '1', 'ffff', 'FFFF', '00', '0a'), { minLength: 8, maxLength: 8 }).map((all) =>
    all.join(':')
  ),
  v4.map((text) => `::ffff:${text}`),
  v4.map((text) => `64:ff9b::${text}`),
)
/** What is nearly an address. */
const odd = fc.array(
  fc.constantFrom('0', '1', '9', 'f', 'g', '::', ':', '.', '%', '/', '[', ']', '@', ' ', '255'),
  {
    maxLength: 12,
  },
).map((all) => all.join(''))

Deno.test('parseAddress reads what ipaddr.js reads, and nothing else', () => {
  fc.assert(
    fc.property(fc.oneof(v4, v6, odd), (text) => {
      // ipaddr.js takes it for IPv4 in the form of IPv6, which has `ffff` before it.
      fc.pre(!/^::\d+\./.test(text))
      const known = toKnown(text)
      const address = parseAddress(text)
      // What ipaddr.js takes and the URL standard does not is refused.
      if (known === undefined) assertEquals(address, undefined, text)
      if (address === undefined) return
      assertEquals(address.groups.length === 2, known!.kind() === 'ipv4', text)
      assertEquals(formatAddress(address), known!.toString(), text)
      assertEquals(formatAddress(unmap(address)), ipaddr.process(text).toString(), text)
    }),
    { numRuns: 5000 },
  )
  fc.assert(fc.property(fc.oneof(v4, v6), (text) => {
    assertEquals([text, parseAddress(text) === undefined], [text, false])
  }))
})

Deno.test('isIn compares bits as ipaddr.js does', () => {
  const near = fc.tuple(fc.array(fc.nat(3), { minLength: 8, maxLength: 8 }), fc.nat(130)).map((
    [groups, bits],
  ) => [groups.map((group) => [0, 1, 0x8000, 0xffff][group]!.toString(16)).join(':'), bits] as const)
  fc.assert(
    fc.property(near, near, fc.tuple(v4, v4, fc.nat(34)), ([one, bits], [other], [a, b, most]) => {
      for (
        const [text, first, length] of [[one, other, bits], [one, one, bits], [a, b, most], [
          a,
          a,
          most,
        ]] as const
      ) {
        const range = parseRange(`${first}/${length}`)
        const known = toKnown(first)!
        assertEquals(
          range !== undefined,
          length <= (known.kind() === 'ipv4' ? 32 : 128),
          `${first}/${length}`,
        )
        if (range === undefined) continue
        const is = isIn(parseAddress(text)!, range)
        assertEquals(is, toKnown(text)!.match(known as ipaddr.IPv6, length), `${text} in ${first}/${length}`)
      }
      assertEquals(isIn(parseAddress(a)!, parseRange(`${one}/0`)!), false)
    }),
    { numRuns: 2000 },
  )
})

Deno.test('a zone stays with its address, and is none of IPv4', () => {
  assertEquals(formatAddress(parseAddress('fe80:0::1%eth0')!), 'fe80::1%eth0')
  for (const text of ['1.2.3.4%eth0', '::1%', '%eth0', '::1%a%b', '::1/128', `::${'0'.repeat(50)}1`]) {
    assertEquals([text, parseAddress(text)], [text, undefined])
  }
  for (const text of ['', '::1/', '::1/129', '1.2.3.4/33', '1.2.3.4/-1', '1.2.3.4/8/8', '1.2.3.4/1e1']) {
    assertEquals([text, parseRange(text)], [text, undefined])
  }
})
