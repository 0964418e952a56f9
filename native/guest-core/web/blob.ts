/** Blobs and files. https://w3c.github.io/FileAPI/ */
import { encodeText, joinBytes, toBuffer } from './bytes.ts'
import { host } from './host.ts'
import { type ReadableStream, streamOf } from './readable_stream.ts'
import {
  expose,
  isBufferSource,
  need,
  toClampedInteger,
  toDictionary,
  toEnum,
  toScalarText,
  toText,
  viewBytes,
} from './webidl.ts'

/** The bytes of a blob, in place. */
export let blobBytes: (blob: Blob) => Uint8Array<ArrayBuffer>

export class Blob {
  readonly #bytes: Uint8Array<ArrayBuffer>
  readonly #type: string

  static {
    blobBytes = (blob) => blob.#bytes
  }

  constructor(parts?: unknown, options?: unknown) {
    const { type, endings } = toDictionary(options, 'the options of a Blob')
    const kind = endings === undefined ? 'transparent' : toEnum(endings, ['transparent', 'native'], 'endings')
    if (parts !== undefined && Object(parts) !== parts) {
      throw new TypeError(`Cannot make a Blob of ${typeof parts}: want a sequence`)
    }
    const list = parts === undefined ? [] : [...parts as Iterable<unknown>]
    this.#bytes = joinBytes(list.map((part) => toPart(part, kind === 'native')))
    this.#type = normalizeType(type === undefined ? '' : toText(type))
  }

  get size(): number {
    return this.#bytes.length
  }

  get type(): string {
    return this.#type
  }

  slice(start?: unknown, end?: unknown, contentType?: unknown): Blob {
    const from = start === undefined ? 0 : toClampedInteger(start)
    const to = end === undefined ? this.size : toClampedInteger(end)
    // A `Uint8Array` counts from the end as a Blob does.
    return new Blob([this.#bytes.subarray(from, to)], {
      type: contentType === undefined ? '' : toText(contentType),
    })
  }

  stream(): ReadableStream {
    return streamOf(this.#bytes.slice())
  }

  text(): Promise<string> {
    return Promise.resolve(host.decodeUtf8(this.#bytes, false))
  }

  arrayBuffer(): Promise<ArrayBuffer> {
    return Promise.resolve(toBuffer(this.#bytes.slice()))
  }

  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(this.#bytes.slice())
  }
}

expose(Blob, 'Blob')

export class File extends Blob {
  readonly #name: string
  readonly #lastModified: number

  constructor(parts: unknown, name: unknown, options?: unknown) {
    need(arguments.length, 2, 'new File')
    super(parts, options)
    this.#name = toScalarText(name)
    const { lastModified } = toDictionary(options, 'the options of a File')
    this.#lastModified = lastModified === undefined
      ? Math.floor(host.realMs())
      : Math.trunc(Number(lastModified)) || 0
  }

  get name(): string {
    return this.#name
  }

  get lastModified(): number {
    return this.#lastModified
  }
}

expose(File, 'File')

function toPart(part: unknown, native: boolean): Uint8Array<ArrayBuffer> {
  if (part instanceof Blob) return blobBytes(part)
  if (isBufferSource(part)) return viewBytes(part)
  const text = toText(part)
  return encodeText(native ? text.replace(/\r\n?|\n/g, '\n') : text)
}

function normalizeType(type: string): string {
  return /[^\x20-\x7e]/.test(type) ? '' : type.toLowerCase()
}
