import { assertEquals, assertThrows } from '@std/assert'
import { SPEC_TAGS, SPEC_VERSION } from '../../src/isolate/ffi/layout.ts'
import { encodeSpec, type ProgramSpec } from '../../src/isolate/ffi/spec.ts'

const SPEC: ProgramSpec = {
  path: '/bin/p',
  args: ['p', '-ä'],
  env: { A: 'b' },
  folder: '/app',
  writable: '/tmp',
  libraries: ['/bin/true'],
  mounts: [{ guest: '/bin/p', host: '/usr/bin/p' }],
  files: [{ guest: '/f', bytes: new Uint8Array([1, 0, 2]) }],
  limits: {
    memoryBytes: 5 * 2 ** 32 + 1,
    outputBytes: 7,
    logBytes: 8,
    bootMs: 9,
    cpuMs: 1,
    calls: 2 ** 32,
    descriptors: 2,
    threads: 3,
    mappings: 4,
  },
  warmup: [{ frame: new Uint8Array([9, 9]), runs: 3, group: 2, tell: true }],
  reseed: true,
  last: new Uint8Array([8]),
  clockUs: 5,
}

Deno.test('encodeSpec writes each item with its tag and length', () => {
  assertEquals(items(encodeSpec(SPEC)), [
    ['path', '/bin/p'],
    ['argument', 'p'],
    ['argument', '-ä'],
    ['variable', 'A=b'],
    ['folder', '/app'],
    ['writable', '/tmp'],
    ['libraries', '/bin/true'],
    ['clock', '\x05\0\0\0'],
    ['mount', '\x06\0\0\0/bin/p/usr/bin/p'],
    ['file', '\x02\0\0\0/f\x01\0\x02'],
    [
      'limits',
      '\x01\0\0\0\x05\0\0\0\x07\0\0\0\x08\0\0\0\x40T\x89\0\0\0\0\0' + // sizes and boot
      '\x40\x42\x0f\0\0\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0',
    ],
    ['warmup', '\x03\0\0\0\x02\0\0\0\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\t\t'],
    ['reseed', ''],
    ['last', '\b'],
  ])
})

Deno.test('encodeSpec marks what is told, rehearsed, and a gauge', () => {
  const frame = new Uint8Array([9])
  const warmup = [{ tell: true }, { rehearse: true }, { gauge: true }]
    .map((marks) => ({ frame, runs: 1, ...marks }))
  const written = items(encodeSpec({ ...SPEC, warmup })).filter(([name]) => name === 'warmup')
  assertEquals(written.map(([, text]) => text.charCodeAt(8)), [1, 2, 4])
})

Deno.test('encodeSpec writes what a base is to load', () => {
  const { files, limits, warmup } = SPEC
  const load = encodeSpec({ base: 7, frame: new Uint8Array([1, 2]), files, limits, warmup, reseed: true })
  const written = items(load)
  assertEquals(written.map(([name]) => name), ['base', 'file', 'limits', 'warmup', 'reseed'])
  assertEquals(written[0], ['base', '\x07\0\0\0\x01\x02'])
})

Deno.test('encodeSpec leaves out what is not there', () => {
  const { path, args, mounts, limits } = SPEC
  const names = items(encodeSpec({ path, args, mounts, limits })).map(([name]) => name)
  assertEquals(names, ['path', 'argument', 'argument', 'mount', 'limits'])
})

Deno.test('encodeSpec refuses numbers that do not fit', () => {
  for (const bad of [-1, 1.5, NaN, 2 ** 32]) {
    const limits = { ...SPEC.limits, outputBytes: bad }
    assertThrows(() => encodeSpec({ ...SPEC, limits }), RangeError, `${bad}, want an integer`)
    const warmup = [{ frame: new Uint8Array(16), runs: bad }]
    assertThrows(() => encodeSpec({ ...SPEC, warmup }), RangeError)
  }
})

/** Takes a description apart again; bytes that are no UTF-8 do not occur. */
function items(bytes: Uint8Array<ArrayBuffer>): [string, string][] {
  const view = new DataView(bytes.buffer)
  assertEquals(view.getUint32(0, true), SPEC_VERSION)
  const found: [string, string][] = []
  for (let at = 4; at < bytes.length;) {
    const tag = view.getUint32(at, true)
    const length = view.getUint32(at + 4, true)
    const [name] = Object.entries(SPEC_TAGS).find(([, value]) => value === tag) ?? ['?']
    const payload = bytes.subarray(at + 8, at + 8 + length)
    const isText = !['limits', 'warmup', 'file', 'mount', 'clock'].includes(name)
    found.push([name, isText ? new TextDecoder().decode(payload) : String.fromCharCode(...payload)])
    at += 8 + length
  }
  return found
}
