/** `fetch` of a program: the host does it. */
import { Credit, Inbox, sendPieces } from '../calls/pieces.ts'
import { decodeValue } from '../../values/decode.ts'
import { MAX_WHOLE, type ResponseHead } from '../calls/protocol.ts'
import { toByteStream } from './byte_stream.ts'
import { type Exchanges, toThrown } from './exchanges.ts'

/** Turns of the microtask queue; a text as a body takes about ten. */
const TURNS = 32
const NULL_BODY = [101, 204, 205, 304]
const REFUSAL =
  'Cannot fetch: this program reaches no network, want its outbound hosts allowed (outbound), or a binding that asks for it'

/** What is in place of `fetch` where the host allows nothing. */
export function refuseFetch(): Promise<never> {
  return Promise.reject(new TypeError(REFUSAL))
}

/** A `fetch` that asks the host for the network, or a binding that is a program. */
export function fetchBy(exchanges: Exchanges, binding: string | null): typeof fetch {
  return async (input, init) => {
    const request = new Request(input as Request, init)
    const { signal } = request
    signal.throwIfAborted()
    const body = request.body === null ? null : await readAhead(request.body)
    const id = await exchanges.start()
    const credit = new Credit()
    const inbox = new Inbox((bytes) => {
      if (exchanges.has(id)) exchanges.send(id, ['more', bytes])
    })
    const answered = Promise.withResolvers<Response>()
    const fail = (error: unknown) => {
      answered.reject(error)
      inbox.fail(error)
      signal.removeEventListener('abort', cancel)
    }
    const cancel = () => {
      exchanges.stop(id)
      fail(signal.reason)
    }
    signal.addEventListener('abort', cancel)
    const head = {
      url: request.url,
      method: request.method,
      headers: [...request.headers],
      redirect: request.redirect,
      hasBody: body !== null,
      ...(body?.length === undefined ? {} : { length: body.length }),
    }
    exchanges.send(id, ['fetch', binding, head], undefined, (told, bytes) => {
      switch (told[0]) {
        case 'more':
          credit.add(told[1])
          return false
        case 'response':
          answered.resolve(toResponse(told[1], inbox, () => exchanges.stop(id)))
          return false
        case 'piece':
          inbox.put(bytes)
          return false
        case 'end':
          inbox.end()
          signal.removeEventListener('abort', cancel)
          return true
        default:
          fail(toThrown(decodeValue(bytes)))
          return true
      }
    })
    if (body !== null) {
      sendPieces(body.chunks, credit, (piece) => {
        if (exchanges.has(id)) exchanges.send(id, ['piece'], piece)
      }).then(
        () => {
          if (exchanges.has(id)) exchanges.send(id, ['end'])
        },
        (error) => {
          exchanges.stop(id)
          fail(error)
        },
      )
    }
    return await answered.promise
  }
}

function toResponse(
  { status, statusText = '', headers, url, redirected, hasBody }: ResponseHead,
  inbox: Inbox,
  stop: () => void,
): Response {
  const body = !hasBody || NULL_BODY.includes(status) ? null : toByteStream(
    () => inbox.take() as Promise<Uint8Array<ArrayBuffer> | null>,
    stop,
  )
  const response = new Response(body, { status, statusText, headers: headers as [string, string][] })
  Object.defineProperties(response, { url: { value: url }, redirected: { value: redirected } })
  return response
}

/** A body, and its length where all of it was there at once. */
interface Body {
  readonly chunks: AsyncIterable<Uint8Array>
  readonly length: number | undefined
}

/** Reads what is there at once: a text or bytes, or the start of a stream. */
async function readAhead(body: ReadableStream<Uint8Array>): Promise<Body> {
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  let next = reader.read()
  while (length <= MAX_WHOLE) {
    const read = await Promise.race([next, afterTurns()])
    if (read === undefined) break
    if (read.done) return { chunks: chunksOf(chunks), length }
    chunks.push(read.value)
    length += read.value.length
    next = reader.read()
  }
  // A stream that fails meanwhile tells it who reads on.
  next.catch(() => {})
  return { chunks: chunksOf(chunks, next, reader), length: undefined }
}

/** What a stream gives that waits for nothing is there by then. */
async function afterTurns(): Promise<undefined> {
  for (let turn = 0; turn < TURNS; turn++) await undefined
}

async function* chunksOf(
  chunks: readonly Uint8Array[],
  next?: Promise<ReadableStreamReadResult<Uint8Array>>,
  reader?: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* chunks
  while (next !== undefined) {
    const { value, done } = await next
    if (done) return
    yield value
    next = reader!.read()
  }
}
