/** The Web surface: every name that it puts on the global object. */
import { AbortController, AbortSignal } from './abort.ts'
import { atob, btoa } from './base64.ts'
import { Blob, File } from './blob.ts'
import { encodeText } from './bytes.ts'
import { createConsole } from './console.ts'
import { Crypto, crypto, SubtleCrypto } from './crypto.ts'
import { CryptoKey } from './crypto_key.ts'
import { DOMException } from './dom_exception.ts'
import { CustomEvent, Event } from './event.ts'
import { EventTarget } from './event_target.ts'
import { FormData } from './form_data.ts'
import { Headers } from './headers.ts'
import { host } from './host.ts'
import { registerView } from './inspect.ts'
import { createIntl } from './intl.ts'
import { MessageChannel, MessageEvent, MessagePort } from './message_channel.ts'
import { missingGlobals } from './missing.ts'
import { Performance, performance, PerformanceEntry } from './performance.ts'
import { ReadableStream, ReadableStreamDefaultReader } from './readable_stream.ts'
import { Request } from './request.ts'
import { Response } from './response.ts'
import { ReadableStreamDefaultController } from './stream_reader.ts'
import { structuredClone } from './structured_clone.ts'
import { TextDecoder } from './text_decoder.ts'
import { TextEncoder } from './text_encoder.ts'
import {
  clearImmediate,
  clearInterval,
  clearTimeout,
  queueMicrotask,
  setImmediate,
  setInterval,
  setTimeout,
} from './timers.ts'
import { URL } from './url.ts'
import { URLSearchParams } from './url_search_params.ts'

/** Interfaces; not enumerable, as everywhere. */
const CLASSES = {
  AbortController,
  AbortSignal,
  Blob,
  Crypto,
  CryptoKey,
  CustomEvent,
  DOMException,
  Event,
  EventTarget,
  File,
  FormData,
  Headers,
  MessageChannel,
  MessageEvent,
  MessagePort,
  Performance,
  PerformanceEntry,
  ReadableStream,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  Request,
  Response,
  SubtleCrypto,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
}

const FUNCTIONS = {
  atob,
  btoa,
  clearImmediate,
  clearInterval,
  clearTimeout,
  queueMicrotask,
  setImmediate,
  setInterval,
  setTimeout,
  structuredClone,
}

/** Everything by name. */
export function createSurface(): Record<string, unknown> {
  registerViews()
  const console = createConsole((text) => host.log(encodeText(text)))
  return { ...missingGlobals(), ...CLASSES, ...FUNCTIONS, Intl: createIntl(), console, crypto, performance }
}

/** Puts the surface on a global object; what is there by these names goes. */
export function installSurface(target: object): void {
  const surface = createSurface()
  for (const [name, value] of Object.entries({ ...surface, self: target })) {
    const enumerable = name in FUNCTIONS
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable })
  }
}

function registerViews(): void {
  for (const type of [Headers, URLSearchParams, FormData]) {
    registerView(type.prototype, (value) => Object.fromEntries(value as Headers))
  }
  registerView(URL.prototype, (value) => (value as URL).href)
  registerView(Request.prototype, (value) => {
    const { method, url, headers } = value as Request
    return { method, url, headers }
  })
  registerView(Response.prototype, (value) => {
    const { status, statusText, headers } = value as Response
    return { status, statusText, headers }
  })
  registerView(Blob.prototype, (value) => {
    const { size, type } = value as Blob
    return { size, type }
  })
}
