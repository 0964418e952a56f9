/** The body of a request that comes into its machine piece by piece. This side runs inside, in every runtime. */
import { decodeValue } from '../../values/decode.ts'
import { Inbox } from '../calls/pieces.ts'
import { WINDOW } from '../calls/protocol.ts'
import { toByteStream } from './byte_stream.ts'
import { type Exchanges, toThrown } from './exchanges.ts'

/** Bytes that were read before the host is told, unless the program waits for more. */
const TOLD_BYTES = WINDOW / 4

/**
 * The body of which `first` has come with the request. The host is asked for the rest when somebody reads that. Reading it fails with what
 * the host says of its client: it went away, was too slow, or sent too much.
 */
export function receiveBody(
  exchanges: Exchanges,
  first: Uint8Array<ArrayBuffer>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let rest: Rest | null = null
  let left: Uint8Array<ArrayBuffer> | null = first.length === 0 ? null : first
  const take = async () => {
    const piece = left
    left = null
    return piece ?? await (rest ??= await Rest.begin(exchanges)).take()
  }
  return toByteStream(take, () => rest?.cancel())
}

/** What the host has of a body. */
class Rest {
  readonly #exchanges: Exchanges
  readonly #id: number
  readonly #inbox: Inbox
  #owed = 0

  static async begin(exchanges: Exchanges): Promise<Rest> {
    return new Rest(exchanges, await exchanges.start())
  }

  constructor(exchanges: Exchanges, id: number) {
    this.#exchanges = exchanges
    this.#id = id
    const inbox = this.#inbox = new Inbox((bytes) => this.#owed += bytes)
    exchanges.send(id, ['body'], undefined, ([verb], bytes) => {
      if (verb === 'piece') return !inbox.put(bytes)
      if (verb === 'end') inbox.end()
      else inbox.fail(toThrown(decodeValue(bytes)))
      return true
    })
  }

  async take(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#owed >= TOLD_BYTES || this.#inbox.isEmpty) this.#tell()
    return await this.#inbox.take() as Uint8Array<ArrayBuffer> | null
  }

  cancel(): void {
    this.#exchanges.stop(this.#id)
  }

  #tell(): void {
    if (this.#owed === 0 || !this.#exchanges.has(this.#id)) return
    this.#exchanges.send(this.#id, ['more', this.#owed])
    this.#owed = 0
  }
}
