/** The host of the Web surface, by Deno's own means: for tests of the surface without the guest. */
import { createHash } from 'node:crypto'
import { Buffer } from 'node:buffer'
import { type Host, NO_PORT, URL_SETTERS, type UrlParts } from '../../native/guest-core/web/host.ts'

const encoder = new TextEncoder()
const SETTERS = Object.keys(URL_SETTERS) as (keyof typeof URL_SETTERS)[]

/** Makes a host. What is logged goes to `log`. */
export function createDenoHost(log: (text: string) => void): Host {
  const decoders = new Map<number, TextDecoder>()
  // As the guest does, from 0.
  let nextDecoder = 0
  return {
    log(bytes) {
      log(new TextDecoder().decode(bytes))
      return bytes.length
    },
    entropy: (into) => void crypto.getRandomValues(into as Uint8Array<ArrayBuffer>),
    realMs: () => performance.timeOrigin + performance.now(),
    monotonicMs: () => performance.now(),
    startTimer: (callback, ms, repeat) =>
      Number(repeat ? setInterval(callback, ms) : setTimeout(callback, ms)),
    stopTimer: (id) => clearTimeout(id),
    microtask: (callback) => queueMicrotask(callback),
    encode: (text) => encoder.encode(text),
    encodeInto(text, into, counts) {
      const { read, written } = encoder.encodeInto(text, into as Uint8Array<ArrayBuffer>)
      counts.set([read, written])
    },
    decodeUtf8: (bytes, fatal) => new TextDecoder('utf-8', { fatal, ignoreBOM: true }).decode(bytes),
    encodingName(label) {
      try {
        return new TextDecoder(label).encoding
      } catch {
        return ''
      }
    },
    decoderNew(name, fatal) {
      decoders.set(nextDecoder, new TextDecoder(name, { fatal, ignoreBOM: true }))
      return nextDecoder++
    },
    decoderPush: (id, bytes, last) => decoders.get(id)!.decode(bytes, { stream: !last }),
    decoderFree: (id) => void decoders.delete(id),
    parseUrl(text, base, parts) {
      const url = URL.parse(text, base === '' ? undefined : base)
      return url === null ? '' : describe(url, parts)
    },
    setUrl(href, which, value, parts) {
      const url = new URL(href)
      url[SETTERS[which]] = value
      return describe(url, parts)
    },
    parseQuery: (text) => [...new URLSearchParams(`?${text}`)],
    formatQuery: (pairs) => new URLSearchParams(pairs as [string, string][]).toString(),
    digest: (name, bytes) =>
      new Uint8Array(createHash(name.toLowerCase().replace('-', '')).update(Buffer.from(bytes)).digest()),
    atob: (text) => atob(text),
    btoa: (text) => btoa(text),
  }
}

/** The href, and where its parts lie as the `url` crate has it. */
function describe(url: URL, parts: UrlParts): string {
  const { href } = url
  const colon = url.protocol.length - 1
  let userEnd = colon + 1
  let host = colon + 1
  if (href.startsWith('//', colon + 1)) {
    const authority = colon + 3
    userEnd = authority + url.username.length
    const password = url.password === '' ? 0 : url.password.length + 1
    host = userEnd + password + (url.username !== '' || password > 0 ? 1 : 0)
  }
  const hostEnd = host + url.hostname.length
  const port = url.port === '' ? 0 : url.port.length + 1
  const hash = href.indexOf('#')
  const query = href.slice(0, hash === -1 ? undefined : hash).indexOf('?')
  const numeric = url.port === '' ? NO_PORT : Number(url.port)
  parts.set([
    colon,
    userEnd,
    host,
    hostEnd,
    numeric,
    hostEnd + port,
    Math.max(query, 0),
    Math.max(hash, 0),
  ])
  return href
}
