/** Says messages of its own to the host past the guest's own code, by Node's `fs`; no handler of the runtime core can. */
import type { Context } from '@mayfly/mayfly'

export const isolated = {
  timeoutMs: 10_000,
  limits: { streamMs: 60_000, streamIdleMs: 30_000, streamBytes: 2_000_000 },
  warmup: [{ path: '/do?what=hello' }],
}

const encoder = new TextEncoder()
const HEAD = JSON.stringify({ status: 200, headers: [['x-own', 'yes']] })

/** The frame of a message; `lengths`: what it says of its head and its body in place of the truth. */
function message(
  id: number,
  head: string | Uint8Array,
  body: string | Uint8Array = '',
  lengths: readonly number[] = [],
): Uint8Array {
  const [heads, bytes] = [head, body].map((part) => typeof part === 'string' ? encoder.encode(part) : part)
  const frame = new Uint8Array(20 + heads!.length + bytes!.length)
  frame.set(encoder.encode('MAYF'))
  frame.set([1, 3], 4)
  const view = new DataView(frame.buffer)
  view.setUint32(8, lengths[0] ?? 4 + heads!.length, true)
  view.setUint32(12, lengths[1] ?? bytes!.length, true)
  view.setUint32(16, id, true)
  frame.set(heads!, 20)
  frame.set(bytes!, 20 + heads!.length)
  return frame
}

const answer = (id = 1, head = HEAD) => message(id, '["answer"]', head)
const piece = (body: string | Uint8Array = 'piece;', id = 1) => message(id, '["piece"]', body)
const end = () => message(1, '["end"]')

const DEEDS: Readonly<Record<string, () => readonly Uint8Array[]>> = {
  by_the_rules: () => [answer(), piece(), piece(), end()],
  piece_behind_end: () => [answer(), piece(), end(), piece()],
  end_twice: () => [answer(), piece(), end(), end()],
  many_behind_end: () => [answer(), end(), ...Array.from({ length: 2000 }, () => piece())],
  no_head: () => [piece()],
  end_alone: () => [end()],
  head_twice: () => [answer(), answer()],
  head_of_another: () => [answer(), answer(2)],
  unknown_id: () => [answer(), piece('x', 77)],
  id_of_the_channel: () => [answer(), piece('x', 0)],
  credit_ignored: () => [answer(), ...Array.from({ length: 8 }, () => piece(new Uint8Array(65_536)))],
  piece_over_the_window: () => [answer(), piece(new Uint8Array(300_000))],
  piece_of_nothing: () => [answer(), piece('')],
  piece_over_a_message: () => [answer(), message(1, '["piece"]', 'x', [13, 0xffff_ffff])],
  head_over_a_message: () => [answer(), message(1, '["piece"]', 'x', [0xffff_ffff, 1])],
  no_id: () => [answer(), message(1, '', '', [0, 0])],
  verb_unknown: () => [answer(), message(1, '["peace"]', 'x')],
  verb_no_array: () => [answer(), message(1, '{"piece":1}', 'x')],
  verb_no_json: () => [answer(), message(1, new Uint8Array([0xff, 0x5b, 0]), 'x')],
  verb_with_more: () => [answer(), message(1, '["piece",1]', 'x')],
  credit_of_its_own: () => [answer(), message(1, '["more",1e9]')],
  head_no_json: () => [answer(1, '{"status":')],
  head_no_object: () => [answer(1, '[]')],
  head_of_numbers: () => [answer(1, '{"status":"200","headers":[]}')],
  head_of_no_body: () => [answer(1, '{"status":204,"headers":[]}')],
  head_early: () => [answer(1, '{"status":101,"headers":[]}')],
  head_splits: () => [answer(1, '{"status":200,"headers":[["x-a","a\\r\\nx-injected: 1"]]}')],
  head_huge: () => [answer(1, `{"status":200,"headers":[["x-a","${'a'.repeat(1_000_000)}"]]}`)],
  a_call: () => [message(1, '["call","MAIL",null]')],
  a_fetch: () => [message(1, '["fetch",null,{}]')],
  a_body: () => [message(1, '["body"]')],
  a_body_behind_the_head: () => [answer(), message(3, '["body"]')],
}

let calls = 0

export function GET(ctx: Context): Response | Promise<Response> {
  calls++
  const what = ctx.get.query('what')!
  if (what === 'hello') return ctx.send.text(`hello ${calls}`)
  const { process } = globalThis as unknown as { process: typeof import('node:process') }
  const { writeSync } = process.getBuiltinModule('node:fs')
  for (const bytes of DEEDS[what]!()) {
    for (let sent = 0; sent < bytes.length;) sent += writeSync(1, bytes, sent)
  }
  // An answer would end the request before the host has heard all of that.
  return new Promise((done) => setTimeout(() => done(new Response()), 5000))
}
