import { host } from './host.ts'
import { expose, isBufferSource, toDictionary, toText, viewBytes } from './webidl.ts'

const NOTHING = new Uint8Array(0)
const BYTE_ORDER_MARK = '\ufeff'

/** Texts of bytes. https://encoding.spec.whatwg.org/#interface-textdecoder */
export class TextDecoder {
  readonly #encoding: string
  readonly #fatal: boolean
  readonly #ignoreBOM: boolean
  /** Bytes of UTF-8 that may become a character with those that follow. */
  #rest: Uint8Array<ArrayBuffer> = NOTHING
  /** The host's decoder of another encoding, for as long as a stream lasts. */
  #decoder: number | null = null
  /** The stream has given text, so that no byte order mark comes any more. */
  #begun = false

  constructor(label: unknown = 'utf-8', options?: unknown) {
    const text = toText(label)
    const { fatal, ignoreBOM } = toDictionary(options, 'the options of a TextDecoder')
    this.#encoding = text === 'utf-8' ? text : host.encodingName(text)
    if (this.#encoding === '' || this.#encoding === 'replacement') {
      throw new RangeError(`Cannot decode ${JSON.stringify(text)}: there is no such encoding`)
    }
    this.#fatal = Boolean(fatal)
    this.#ignoreBOM = Boolean(ignoreBOM)
  }

  get encoding(): string {
    return this.#encoding
  }

  get fatal(): boolean {
    return this.#fatal
  }

  get ignoreBOM(): boolean {
    return this.#ignoreBOM
  }

  decode(input?: unknown, options?: unknown): string {
    if (input !== undefined && !isBufferSource(input)) {
      throw new TypeError('Cannot decode what is neither an ArrayBuffer nor a view of one')
    }
    const stream = Boolean(toDictionary(options, 'the options of decode').stream)
    const bytes = input === undefined ? NOTHING : viewBytes(input)
    try {
      const text = this.#encoding === 'utf-8' ? this.#utf8(bytes, stream) : this.#legacy(bytes, stream)
      const marked = !this.#begun && !this.#ignoreBOM && text.startsWith(BYTE_ORDER_MARK)
      this.#begun = stream && (this.#begun || text !== '')
      return marked ? text.slice(1) : text
    } catch {
      this.#reset()
      throw new TypeError(`Cannot decode: the bytes are no ${this.#encoding}`)
    }
  }

  #utf8(bytes: Uint8Array<ArrayBuffer>, stream: boolean): string {
    if (this.#rest.length > 0) bytes = concatenate(this.#rest, bytes)
    const end = stream ? completeEnd(bytes) : bytes.length
    const text = host.decodeUtf8(end === bytes.length ? bytes : bytes.subarray(0, end), this.#fatal)
    this.#rest = end === bytes.length ? NOTHING : bytes.slice(end)
    return text
  }

  #legacy(bytes: Uint8Array, stream: boolean): string {
    this.#decoder ??= host.decoderNew(this.#encoding, this.#fatal)
    const text = host.decoderPush(this.#decoder, bytes, !stream)
    if (!stream) this.#reset()
    return text
  }

  #reset(): void {
    if (this.#decoder !== null) host.decoderFree(this.#decoder)
    this.#decoder = null
    this.#rest = NOTHING
    this.#begun = false
  }
}

expose(TextDecoder, 'TextDecoder')

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}

/** Where the bytes end that need no more to be decoded: what follows is the beginning of a character of UTF-8. */
function completeEnd(bytes: Uint8Array): number {
  const { length } = bytes
  for (let back = 1; back <= 3 && back <= length; back++) {
    const lead = bytes[length - back]
    if ((lead & 0xc0) === 0x80) continue
    const needed = lead >= 0xf0 && lead <= 0xf4 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1
    if (lead > 0xf4 || back >= needed) return length
    return back === 1 || isSecond(lead, bytes[length - back + 1]) ? length - back : length
  }
  return length
}

/** True when `byte` may follow `lead`: neither too long a form, nor a surrogate, nor over U+10FFFF. */
function isSecond(lead: number, byte: number): boolean {
  if (lead === 0xe0) return byte >= 0xa0
  if (lead === 0xed) return byte < 0xa0
  if (lead === 0xf0) return byte >= 0x90
  if (lead === 0xf4) return byte < 0x90
  return true
}
