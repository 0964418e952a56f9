/**
 * Writes frames of its own to fd 1, in the way that `?what=` names, past the guest's own code: with Node's `fs`, and in the runtime core,
 * which has no such call and writes the heads of frames itself, by the parts of the answer that the guest's code gives it.
 */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  timeoutMs: 10_000,
  cpuMs: 400,
  memoryMb: 64,
  outputBytes: 100_000,
  warmup: [{ path: '/forge?what=nothing' }],
}

interface Odd {
  readonly version?: number
  readonly kind?: number
  readonly flags?: number
  readonly headerBytes?: number
  readonly bodyBytes?: number
}

const encoder = new TextEncoder()

/** A frame, with lies where `odd` has some. */
function frame(header: string | Uint8Array, body = '', odd: Odd = {}): Uint8Array {
  const head = typeof header === 'string' ? encoder.encode(header) : header
  const rest = encoder.encode(body)
  const bytes = new Uint8Array(16 + head.length + rest.length)
  bytes.set(encoder.encode('MAYF'))
  bytes.set([odd.version ?? 1, odd.kind ?? 2], 4)
  const view = new DataView(bytes.buffer)
  view.setUint16(6, odd.flags ?? 0, true)
  view.setUint32(8, odd.headerBytes ?? head.length, true)
  view.setUint32(12, odd.bodyBytes ?? rest.length, true)
  bytes.set(head, 16)
  bytes.set(rest, 16 + head.length)
  return bytes
}

function answer(members: Record<string, unknown>, body = ''): Uint8Array {
  return frame(JSON.stringify({ status: 200, headers: [], ...members }), body)
}

const FRAMES: Readonly<Record<string, () => Uint8Array>> = {
  nothing: () => new Uint8Array(0),
  right: () => answer({}, 'forged'),
  garbage: () => encoder.encode('HTTP/1.1 200 OK\r\n\r\n'),
  cut: () => answer({}).subarray(0, 9),
  version: () => frame('{}', '', { version: 9 }),
  kind: () => frame('{}', '', { kind: 1 }),
  flags: () => frame('{}', '', { flags: 0x8000 }),
  huge_header: () => frame('{}', '', { headerBytes: 0xffffffff }),
  huge_body: () => frame('{}', '', { bodyBytes: 0xffffffff }),
  body_over: () => answer({}, 'x'.repeat(100_001)),
  short_lengths: () => frame('{"status":200,"headers":[]}', 'body', { headerBytes: 4 }),
  two: () => new Uint8Array([...answer({}, 'one'), ...answer({}, 'two')]),
  no_json: () => frame('{"status":'),
  no_utf8: () => frame(new Uint8Array([0xff, 0xfe, 0x7b, 0x7d])),
  null: () => frame('null'),
  array: () => frame('[]'),
  deep: () => frame(`{"status":200,"headers":[],"state":{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`),
  status_negative: () => answer({ status: -200 }),
  status_huge: () => answer({ status: 1e9 }),
  status_early: () => answer({ status: 101 }),
  status_fraction: () => answer({ status: 200.5 }),
  status_text: () => answer({ status: '200' }),
  reason: () => answer({ statusText: 'OK\r\nx-injected: 1' }),
  header_value: () => answer({ headers: [['x-a', 'a\r\nx-injected: 1']] }),
  header_name: () => answer({ headers: [['x-injected: 1\r\nx', 'a']] }),
  header_object: () => answer({ headers: { 'x-a': 'a' } }),
  header_number: () => answer({ headers: [['x-a', 1]] }),
  header_wide: () => answer({ headers: [['x-a', '\u{1f41d}']] }),
  cookie: () => answer({ pending: { single: [], appended: [['set-cookie', 'a=b\r\nx-injected: 1']] } }),
  length: () => answer({ headers: [['content-length', '999999']] }, 'short'),
  chunked: () => answer({ headers: [['transfer-encoding', 'chunked']] }, 'ffff\r\n'),
  view: () => answer({ view: { name: '../../../../../../etc/passwd', options: {} } }, '{}'),
  proto: () =>
    frame(
      '{"status":200,"headers":[],"__proto__":{"polluted":1},"state":{"__proto__":{"polluted":1}}}',
      'ok',
    ),
  error_status: () => frame('{"error":{"name":"E","message":"m","http":{"status":99,"type":"t"}}}'),
  error_long: () => frame(JSON.stringify({ error: { name: 'E', message: 'm'.repeat(900_000) } })),
  error_crlf: () =>
    frame(
      '{"error":{"name":"E","message":"m","http":{"status":400,"type":"t","headers":{"a":"b\\r\\nx-injected: 1"}}}}',
    ),
  session: () => answer({ session: { data: 'no object' } }),
  headers_many: () => answer({ headers: Array.from({ length: 10_000 }, (_, index) => [`x-${index}`, '']) }),
  headers_most: () => answer({ headers: Array.from({ length: 80_000 }, (_, index) => [`x${index}`, '']) }),
  headers_collected: () =>
    answer({
      pending: { single: Array.from({ length: 10_000 }, (_, index) => [`x-${index}`, '']), appended: [] },
    }),
  header_spaces: () => answer({ headers: [['x-a', ` x${' '.repeat(200_000)}x`]] }, 'ok'),
  // What a parser that goes back takes the third power of.
  error_stack: () =>
    frame(JSON.stringify({ error: { name: 'E', message: 'm', stack: `    at f (${':1'.repeat(4000)}` } })),
  error_spaces: () =>
    frame(
      JSON.stringify({
        error: { name: 'E', message: 'm', stack: `${' '.repeat(4000)}at ${' '.repeat(4000)}` },
      }),
    ),
  error_file: () =>
    frame(
      JSON.stringify({ error: { name: 'E', message: 'm', stack: 'E: m\n    at f (file:///dev/zero:1:1)' } }),
    ),
  view_long: () => frame(JSON.stringify({ view: { name: 'a/'.repeat(50_000) } }), '{}'),
  view_deep: () => frame('{"view":{"name":"greeting"}}', `{"a":${'['.repeat(40_000)}${']'.repeat(40_000)}}`),
  grants: () =>
    answer({
      headers: [['set-cookie', 'a=b'], ['content-security-policy', '*'], ['x-request-id', '1']],
      pending: { single: [['x-frame-options', 'ALLOWALL']], appended: [['set-cookie', 'c=d']] },
      state: { admin: true },
    }, 'ok'),
}

export function GET(ctx: Context): Response {
  const bytes = FRAMES[ctx.get.query('what')!]()
  // The bundle of core has a `process` of its own where a module names it, which is no part of the runtime.
  const { process } = globalThis as { process?: typeof import('node:process') }
  if (process !== undefined) {
    const { writeSync } = process.getBuiltinModule('node:fs')
    for (let sent = 0; sent < bytes.length;) sent += writeSync(1, bytes, sent)
  } else {
    const parts = toParts(bytes)
    if (parts !== null) return forgeParts(parts)
  }
  return ctx.send.text('by the rules')
}

interface Parts {
  readonly header: string
  readonly body: Uint8Array<ArrayBuffer>
}

/** The parts of a frame whose head is right; null for other bytes. */
function toParts(bytes: Uint8Array): Parts | null {
  if (bytes.length < 16 || bytes[4] !== 1 || bytes[5] !== 2 || bytes[7] !== 0) return null
  const view = new DataView(bytes.buffer)
  const bodyAt = 16 + view.getUint32(8, true)
  if (bodyAt + view.getUint32(12, true) !== bytes.length) return null
  return { header: new TextDecoder().decode(bytes.subarray(16, bodyAt)), body: bytes.slice(bodyAt) }
}

/** Poisons what makes the header of the answer. */
function forgeParts({ header, body }: Parts): Response {
  JSON.stringify = () => header
  return new Response(body)
}
