/** What the code in a guest may ask of the host. */
import type { ReachNames } from '../../reach/calls/protocol.ts'
import { toEnv } from '../../reach/guest/env.ts'
import { Exchanges } from '../../reach/guest/exchanges.ts'
import { fetchBy, refuseFetch } from '../../reach/guest/fetch.ts'
import { type PieceReader, sendAnswer, type StreamEnd } from '../../reach/guest/answer.ts'
import { receiveBody } from '../../reach/guest/body.ts'
import { GuestSocket } from '../../reach/guest/socket.ts'
import { host } from './host.ts'
import { listen, send } from './host_channel.ts'

/** What a program has of it. */
export interface GuestReach {
  readonly env: Readonly<Record<string, unknown>>
  readonly fetch: typeof fetch
}

const exchanges = new Exchanges({
  send: (message) => send(message as Parameters<typeof send>[0]),
  listen,
})

/** Sends an answer piece by piece, as {@linkcode sendAnswer}. */
export function sendStream(
  head: Uint8Array<ArrayBuffer>,
  first: readonly Uint8Array[],
  reader: PieceReader,
): Promise<StreamEnd> {
  return sendAnswer(exchanges, head, first, reader)
}

/** The body of the request, of which `first` has come, as {@linkcode receiveBody}. */
export function receiveRest(first: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return receiveBody(exchanges, first)
}

/** Runs a WebSocket until it is closed, as {@linkcode GuestSocket.run}. */
export function runSocket(socket: GuestSocket): Promise<void> {
  return GuestSocket.run(socket, exchanges)
}

/** A request begins. */
export function beginReach(isOver: () => boolean): void {
  exchanges.begin(isOver)
}

/** Its bindings, and its `fetch`. `joinsHttp`: other clients of HTTP ask as that does; a runtime has to load them for that. */
export function toReach(names: ReachNames | undefined, joinsHttp = true): GuestReach {
  if (names === undefined) return { env: {}, fetch: refuseFetch }
  if (names.samples !== undefined) exchanges.practise(names.samples)
  const fetch = names.fetches ? fetchBy(exchanges, null) : refuseFetch
  if (names.fetches && joinsHttp) host.joinHttp(fetch)
  return { env: toEnv(names.bindings, exchanges), fetch }
}
