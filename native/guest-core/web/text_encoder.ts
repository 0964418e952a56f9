import { encodeText } from './bytes.ts'
import { host } from './host.ts'
import { expose, need, toText } from './webidl.ts'

const counts = new Uint32Array(2)

/** UTF-8 of texts. https://encoding.spec.whatwg.org/#interface-textencoder */
export class TextEncoder {
  get encoding(): string {
    return 'utf-8'
  }

  encode(input: unknown = ''): Uint8Array<ArrayBuffer> {
    return encodeText(toText(input))
  }

  encodeInto(source: unknown, destination: unknown): { read: number; written: number } {
    need(arguments.length, 2, 'TextEncoder.encodeInto')
    const text = toText(source)
    if (!(destination instanceof Uint8Array)) {
      throw new TypeError('Cannot encode into what is no Uint8Array')
    }
    host.encodeInto(text.toWellFormed(), destination, counts)
    return { read: counts[0], written: counts[1] }
  }
}

expose(TextEncoder, 'TextEncoder')
