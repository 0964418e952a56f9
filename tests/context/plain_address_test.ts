import { assertEquals } from '@std/assert'
import ipaddr from 'ipaddr.js'
import { toPlainAddress } from '../../src/context/ip.ts'

Deno.test('toPlainAddress agrees with a parser of addresses, and takes no short or octal IPv4', () => {
  const numbers = [
    '',
    '0',
    '00',
    '01',
    '1',
    '9',
    '10',
    '99',
    '100',
    '199',
    '200',
    '249',
    '250',
    '255',
    '256',
    '999',
    '0x1',
    '-1',
    ' 1',
  ]
  const texts = [
    '::1',
    '::ffff:192.0.2.1',
    '2001:DB8::0:1',
    'fe80::1%eth0',
    'localhost',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.4 ',
    '',
  ]
  for (const a of numbers) {
    for (const b of numbers) texts.push(`${a}.${b}.3.4`, `1.2.${a}.${b}`)
  }
  for (const text of texts) {
    const isUsual = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)
    assertEquals(toPlainAddress(text), isUsual ? ipaddr.process(text).toString() : undefined, text)
  }
})
