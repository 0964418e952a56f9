import type { Context, Middleware } from '../context/types.ts'
import { chooseEncoding } from '../context/accept_encoding.ts'
import { mergeVary } from './headers.ts'
import { checkFactoryOptions } from './factory_options.ts'
import { callback, integer, type OptionRules } from '../options/rule.ts'
import { peekBody } from './peek_body.ts'

/** A content coding that {@linkcode compress} can make. */
export type CompressEncoding = 'br' | 'gzip' | 'deflate'

/** Options of {@linkcode compress}. */
export interface CompressOptions {
  /** Codings by the server's preference, used where the client likes several the same. Default `br`, `gzip`. */
  readonly encodings?: readonly CompressEncoding[] | undefined
  /** Bodies below this many bytes stay as they are. Default 1024. */
  readonly threshold?: number | undefined
  /** Whether a media type is worth it. Default: text, JSON, XML, JavaScript, SVG, WebAssembly, fonts that are not packed. */
  readonly filter?: ((mediaType: string, ctx: Context) => boolean) | undefined
}

const FORMATS: Readonly<Record<CompressEncoding, CompressionFormat>> = {
  br: 'brotli',
  gzip: 'gzip',
  deflate: 'deflate',
}

const COMPRESSIBLE =
  /^(?:text\/.*|.*\+(?:json|xml|text)|application\/(?:json|xml|javascript|ecmascript|manifest|wasm|x-ndjson|rtf|vnd\.ms-fontobject)|font\/(?:ttf|otf)|image\/(?:bmp|x-icon|vnd\.microsoft\.icon))$/

// No content, a part, not modified.
const UNCODED: ReadonlySet<number> = new Set([101, 204, 205, 206, 304])

const RULES: OptionRules<CompressOptions> = {
  encodings: {
    wanted: 'a non-empty array of "br", "gzip" and "deflate"',
    check: (value) =>
      Array.isArray(value) && value.length > 0 && value.every((name) => Object.hasOwn(FORMATS, name))
        ? undefined
        : TypeError,
  },
  threshold: integer(0),
  filter: callback(),
}

/**
 * Compresses responses as the client's Accept-Encoding asks. A stream is flushed chunk by chunk, so a page that renders in
 * parts arrives in parts. Left alone: small bodies, coded ones, parts (206), event streams, `Cache-Control: no-transform`.
 */
export function compress(options: CompressOptions = {}): Middleware {
  checkFactoryOptions(compress, options, RULES)
  const { encodings = ['br', 'gzip'], threshold = 1024 } = options
  const { filter = (mediaType) => COMPRESSIBLE.test(mediaType) } = options
  return async function compress(ctx, next) {
    const response = await next()
    if (response.body === null && ctx.get.method() !== 'HEAD') return response
    if (!isEligible(response, (mediaType) => filter(mediaType, ctx))) return response
    const length = response.headers.get('content-length')
    if (length !== null && Number(length) < threshold) return response
    mergeVary(response.headers, 'Accept-Encoding')
    const encoding = chooseEncoding(ctx.get.header('accept-encoding'), encodings) as
      | CompressEncoding
      | undefined
    if (encoding === undefined) return response
    // To HEAD the headers of GET, as far as they are known; its body is never read.
    if (ctx.get.method() === 'HEAD') return response.body ?? length ? encode(response, encoding) : response
    const peeked = await peekBody(response.body!, length === null ? threshold : 0)
    if (peeked instanceof Uint8Array) return new Response(peeked, response)
    const body = peeked.pipeThrough(new CompressionStream(FORMATS[encoding]))
    return encode(new Response(body, response), encoding)
  }
}

function isEligible(response: Response, worthIt: (mediaType: string) => boolean): boolean {
  const { headers, status } = response
  if (UNCODED.has(status) || headers.has('content-range')) return false
  const coding = headers.get('content-encoding')
  if (coding !== null && coding !== 'identity') return false
  if (/(?:^|,)\s*no-transform\s*(?:,|$)/i.test(headers.get('cache-control') ?? '')) return false
  const mediaType = (headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase()
  return mediaType !== '' && mediaType !== 'text/event-stream' && worthIt(mediaType)
}

function encode(response: Response, encoding: string): Response {
  const { headers } = response
  headers.set('content-encoding', encoding)
  headers.delete('content-length')
  headers.delete('accept-ranges')
  // What these two digest is no longer what is sent.
  headers.delete('content-digest')
  headers.delete('content-md5')
  const tag = headers.get('etag')
  if (tag !== null && !tag.startsWith('W/')) headers.set('etag', `W/${tag}`)
  return response
}
