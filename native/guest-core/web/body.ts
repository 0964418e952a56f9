/** Bodies of requests and responses. https://fetch.spec.whatwg.org/#body-mixin */
import { Blob, blobBytes } from './blob.ts'
import { encodeText, joinBytes, toBuffer } from './bytes.ts'
import { FormData } from './form_data.ts'
import { host } from './host.ts'
import { parseMimeType, serializeMimeType } from './mime_type.ts'
import { readMultipart, writeMultipart } from './multipart.ts'
import { coreOf, ReadableStream, readAll, streamOf } from './readable_stream.ts'
import { URLSearchParams } from './url_search_params.ts'
import { isBufferSource, toScalarText, viewBytes } from './webidl.ts'

/** A body that is there: a text, bytes or a stream. It becomes a stream when a script asks for that. */
export interface BodyState {
  source: string | Uint8Array<ArrayBuffer> | null
  stream: ReadableStream | null
  /** It was read, and never was a stream. */
  used: boolean
}

/** A body and the Content-Type that it brings. */
export interface Extracted {
  readonly body: BodyState
  readonly type: string | null
}

/** "Extract a body". Throws `TypeError` for a stream that somebody reads. */
export function extractBody(init: unknown): Extracted {
  if (typeof init === 'string') return fromSource(init, 'text/plain;charset=UTF-8')
  if (init instanceof ReadableStream) return fromStream(init)
  if (init instanceof Blob) return fromSource(blobBytes(init), init.type === '' ? null : init.type)
  if (isBufferSource(init)) return fromSource(viewBytes(init).slice(), null)
  if (init instanceof URLSearchParams) {
    return fromSource(init.toString(), 'application/x-www-form-urlencoded;charset=UTF-8')
  }
  if (init instanceof FormData) {
    const { bytes, boundary } = writeMultipart(init)
    return fromSource(bytes, `multipart/form-data; boundary=${boundary}`)
  }
  if (isAsyncSequence(init)) return fromStream(ReadableStream.from(init))
  return fromSource(toScalarText(init), 'text/plain;charset=UTF-8')
}

function fromSource(source: string | Uint8Array<ArrayBuffer>, type: string | null): Extracted {
  return { body: { source, stream: null, used: false }, type }
}

function fromStream(stream: ReadableStream): Extracted {
  if (stream.locked || coreOf(stream)!.disturbed) {
    throw new TypeError('Cannot use a stream as a body: it is locked or was read')
  }
  return { body: { source: null, stream, used: false }, type: null }
}

/** What Deno takes beyond the standard: chunks of an iterable, unless it is a boxed string. */
function isAsyncSequence(init: unknown): boolean {
  if (init === null || typeof init !== 'object' || init instanceof String) return false
  return Symbol.asyncIterator in init || Symbol.iterator in init
}

export function isUsed(body: BodyState | null): boolean {
  if (body === null) return false
  return body.stream === null ? body.used : coreOf(body.stream)!.disturbed
}

/** It was read, or somebody reads it. */
export function isUnusable(body: BodyState | null): boolean {
  return isUsed(body) || (body?.stream?.locked ?? false)
}

/** The body as a stream; the same one at each call. */
export function toStream(body: BodyState): ReadableStream {
  if (body.stream === null) {
    body.stream = streamOf(toBytes(body.source!))
    if (body.used) coreOf(body.stream)!.disturbed = true
    body.source = null
  }
  return body.stream
}

/** A body with the same content; a stream is split. */
export function cloneBody(body: BodyState): BodyState {
  if (body.stream === null) return { source: body.source, stream: null, used: false }
  const [mine, other] = body.stream.tee()
  body.stream = mine
  return { source: null, stream: other, used: false }
}

/** Takes the content out of a body, which is used then. */
export function moveBody(body: BodyState): BodyState {
  const moved = { ...body }
  body.used = true
  if (body.stream !== null) {
    moved.stream = ReadableStream.from(body.stream)
    coreOf(body.stream)!.disturbed = true
  }
  return moved
}

function toBytes(source: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return typeof source === 'string' ? encodeText(source) : source
}

/** All of a body, which is used then. Throws `TypeError` when it was before. */
async function consume(body: BodyState | null): Promise<string | Uint8Array<ArrayBuffer>> {
  if (body === null) return ''
  if (isUnusable(body)) throw new TypeError('Body already consumed.')
  if (body.stream !== null) return joinBytes(await readAll(body.stream))
  body.used = true
  return body.source!
}

export async function readBuffer(body: BodyState | null): Promise<ArrayBuffer> {
  return toBuffer(await readOwnBytes(body))
}

/** A copy: the source may be another message's as well. */
export async function readOwnBytes(body: BodyState | null): Promise<Uint8Array<ArrayBuffer>> {
  const source = await consume(body)
  return typeof source === 'string' ? encodeText(source) : source.slice()
}

export async function readText(body: BodyState | null): Promise<string> {
  const source = await consume(body)
  const text = typeof source === 'string' ? source.toWellFormed() : host.decodeUtf8(source, false)
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

export async function readJson(body: BodyState | null): Promise<unknown> {
  return JSON.parse(await readText(body))
}

export async function readBlob(body: BodyState | null, contentType: string | null): Promise<Blob> {
  const source = await consume(body)
  const type = contentType === null ? null : parseMimeType(contentType)
  return new Blob([source], { type: type === null ? '' : serializeMimeType(type) })
}

/** Throws `TypeError` for a body that is no form by its Content-Type, or malformed. */
export async function readForm(body: BodyState | null, contentType: string | null): Promise<FormData> {
  const source = await consume(body)
  const type = contentType === null ? null : parseMimeType(contentType)
  if (type?.essence === 'multipart/form-data') {
    const boundary = type.parameters.get('boundary')
    if (boundary === undefined) throw new TypeError('Cannot read a form: its Content-Type has no boundary')
    return readMultipart(toBytes(source), boundary)
  }
  if (type?.essence !== 'application/x-www-form-urlencoded') {
    throw new TypeError(`Cannot read a form: the Content-Type is ${contentType ?? 'missing'}`)
  }
  const text = typeof source === 'string' ? source : host.decodeUtf8(source, false)
  const form = new FormData()
  for (const [name, value] of host.parseQuery(text)) form.append(name, value)
  return form
}
