/** The request body: read once, under the limit, and offered in every format from memory. */
import { HttpError } from '../errors/http_error.ts'
import { emit, wants } from '../events/bus.ts'
import { checkForm } from './form_bounds.ts'
import { joinBytes } from './join_bytes.ts'
import type { RequestState } from './state.ts'
import type { FormValue } from './types.ts'

const decoder = new TextDecoder()

/** The body's bytes. 413 over `state.bodyLimit`, by its declared length or as it streams in; 400 when it breaks off. */
export function readBytes(state: RequestState): Promise<Uint8Array<ArrayBuffer>> {
  return state.body ??= readLimited(state)
}

/** The body went to an isolated handler piece by piece: nobody else has it. */
export class StreamedBodyError extends TypeError {
  override readonly name = 'StreamedBodyError'
}

/** Notes that the body goes to a handler as it comes. */
export function giveBodyAway(state: RequestState): void {
  const gone = Promise.reject<Uint8Array<ArrayBuffer>>(
    new StreamedBodyError('Cannot read the body: its handler got it piece by piece'),
  )
  gone.catch(() => {})
  state.body = gone
}

/** The body as text, malformed UTF-8 replaced. */
export async function readText(state: RequestState): Promise<string> {
  return decoder.decode(await readBytes(state))
}

/** The body as JSON, parsed once. 400 when it is malformed or empty. */
export async function readJson(state: RequestState): Promise<unknown> {
  if (state.json === null) {
    const text = await readText(state)
    try {
      state.json = { value: JSON.parse(text) }
    } catch (error) {
      const why = text === '' ? 'it is empty' : (error as Error).message
      throw new HttpError(400, `Malformed JSON body: ${why}`, { cause: error })
    }
  }
  return state.json.value
}

/** The body as a form, urlencoded or multipart. 400 when it is malformed, 413 when it has too many fields, 415 when it says it is no form. */
export async function readForm(state: RequestState): Promise<FormData> {
  const type = state.request.headers.get('content-type') ?? ''
  if (!isForm(type)) {
    throw new HttpError(415, `Cannot read a form: Content-Type is "${type}", want a form's`)
  }
  const bytes = await readBytes(state)
  const boundary = boundaryOf(type)
  if (boundary !== null && isCut(boundary, bytes)) {
    throw new HttpError(400, 'Malformed form body: its end is missing')
  }
  checkForm(bytes, boundary)
  try {
    return await new Response(bytes, { headers: { 'content-type': type } }).formData()
  } catch (error) {
    throw new HttpError(400, 'Malformed form body', { cause: error })
  }
}

/** The body by its Content-Type; undefined when there is none. */
export async function readBody(state: RequestState): Promise<unknown> {
  const type = (state.request.headers.get('content-type') ?? '').toLowerCase()
  if (isForm(type)) return toFormRecord(await readForm(state))
  const bytes = await readBytes(state)
  if (bytes.length === 0) return undefined
  if (/^application\/(?:[\w.-]+\+)?json\b/.test(type)) return readJson(state)
  if (type === '' || type.startsWith('text/')) return readText(state)
  return bytes
}

function isForm(type: string): boolean {
  return /^\s*(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i.test(type)
}

/** Bytes behind the end of a multipart body, where its closing delimiter is looked for. */
const EPILOGUE_BYTES = 1024

/** What delimits the fields of a multipart form; null for another one, and where none is said, which the parser refuses. */
function boundaryOf(type: string): string | null {
  const found = /^\s*multipart\/[^;]*;.*?\bboundary=(?:"([^"]*)"|([^\s;]+))/i.exec(type)
  return found === null ? null : found[1] ?? found[2]!
}

/** True for a multipart body without its closing delimiter (RFC 2046, section 5.1.1), which the parser lets pass. */
function isCut(boundary: string, bytes: Uint8Array): boolean {
  const delimiter = `--${boundary}--`
  const tail = bytes.subarray(-(delimiter.length + EPILOGUE_BYTES))
  return !new TextDecoder('latin1').decode(tail).includes(delimiter)
}

function toFormRecord(form: FormData): Record<string, FormValue> {
  const record: Record<string, FormValue> = Object.create(null)
  for (const [name, value] of form) {
    const before = record[name]
    if (before === undefined) record[name] = value
    else if (Array.isArray(before)) before.push(value)
    else record[name] = [before, value]
  }
  return record
}

async function readLimited(state: RequestState): Promise<Uint8Array<ArrayBuffer>> {
  const { request } = state
  if (request.body === null) return new Uint8Array(0)
  const declared = request.headers.get('content-length')
  if (declared !== null && Number(declared) > state.bodyLimit) throw bodyTooLarge(state, Number(declared))
  state.readingBody = true
  try {
    if (declared !== null) return new Uint8Array(await request.arrayBuffer())
    return await readStream(state, request.body)
  } catch (error) {
    if (error instanceof HttpError) throw error
    throw bodyBrokeOff(error)
  } finally {
    state.readingBody = false
  }
}

async function readStream(
  state: RequestState,
  body: ReadableStream<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > state.bodyLimit) throw bodyTooLarge(state, size)
    chunks.push(chunk)
  }
  return joinBytes(chunks)
}

/** The error of a body whose client went away. */
export function bodyBrokeOff(cause: unknown): HttpError {
  return new HttpError(400, 'The request body broke off', { cause })
}

/** The error of a body that came too slowly. */
export function bodyTooSlow(): HttpError {
  return new HttpError(408, 'The request body came too slowly')
}

/** The error of a body of `size` bytes, which is told as an event as well. */
export function bodyTooLarge(state: RequestState, size: number): HttpError {
  const { bus } = state.host
  if (wants(bus, 'body:rejected')) {
    emit(bus, 'body:rejected', { reason: 'too large', limit: state.bodyLimit, size })
  }
  return new HttpError(413, `The request body is too large: over ${state.bodyLimit} bytes`)
}
