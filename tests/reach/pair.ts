/** A program and the host in one process: what one says the other hears, in a later turn. */
import { type Bindings, toBindings } from '../../src/reach/calls/bindings.ts'
import { Conversation, type Reach } from '../../src/reach/calls/conversation.ts'
import type { Message } from '../../src/reach/calls/protocol.ts'
import { toEnv } from '../../src/reach/guest/env.ts'
import { Exchanges } from '../../src/reach/guest/exchanges.ts'
import { fetchBy } from '../../src/reach/guest/fetch.ts'

// deno-lint-ignore no-explicit-any -- bindings as a program has them
export type Env = Record<string, any>

/** Joins them. `full` says when the machine takes no messages. */
export function join(given: Record<string, unknown>, more: Partial<Reach> = {}) {
  const bindings: Bindings = toBindings('test', given)
  const conversation = new Conversation({ program: 'p', bindings, outbound: null, calls: 10_000, ...more })
  const state = { full: false, ended: false, said: 0 }
  let hear: (message: Message) => void = () => {}
  const say = (message: Message) => {
    if (state.full || state.ended) return false
    state.said++
    queueMicrotask(() => state.ended || hear(message))
    return true
  }
  const exchanges = new Exchanges({
    send: (message) => queueMicrotask(() => conversation.hear(message, say)),
    listen: (listener) => hear = listener,
  })
  exchanges.begin(() => state.ended)
  return {
    state,
    exchanges,
    conversation,
    env: toEnv(bindings.names, exchanges) as Env,
    fetch: fetchBy(exchanges, null),
    end() {
      state.ended = true
      conversation.end()
    },
  }
}

/** A host alone, and what it said to a program that says whatever it likes. */
export function hostile(given: Record<string, unknown>, more: Partial<Reach> = {}) {
  const conversation = new Conversation({
    program: 'p',
    bindings: toBindings('test', given),
    outbound: null,
    calls: 10_000,
    ...more,
  })
  const said: { id: number; head: unknown[]; body: string }[] = []
  const state = { full: false }
  const decoder = new TextDecoder()
  const say = ({ id, head, body }: Message) => {
    if (state.full) return false
    said.push({ id, head: JSON.parse(decoder.decode(head)), body: decoder.decode(body) })
    return true
  }
  const encoder = new TextEncoder()
  const hear = (id: number, head: unknown, body: string | Uint8Array<ArrayBuffer> = '') =>
    conversation.hear({
      id,
      head: head instanceof Uint8Array
        ? new Uint8Array(head)
        : encoder.encode(typeof head === 'string' ? head : JSON.stringify(head)),
      body: typeof body === 'string' ? encoder.encode(body) : body,
    }, say)
  return { conversation, said, state, hear }
}

/** All that is ready in this turn and a few more happens. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((done) => setTimeout(done, 1))
}
