/** The `Response` of applications: a text under a plain head makes no real response. */
import { toFormBlob } from './form_body.ts'
import { PLAIN_HEADS, toPlainHead } from './plain_head.ts'
import { LazyResponse, NativeResponse } from './response.ts'
import { toUpgrade } from './upgrade.ts'

/** Responses whose bodies come piece by piece, and may never end. */
const streamed = new WeakSet<Response>()

/** Whether the body of a response comes piece by piece. */
export function isStreamed(response: Response): boolean {
  return streamed.has(response)
}

/**
 * Takes the place of `Response`. Most handlers make one of a text, and nobody looks at it again: a real one costs more than a small
 * handler does, to make and to read. Where a real one would throw, or a class inherits, it is made.
 */
export function installLazyResponse(): void {
  for (const key of Reflect.ownKeys(NativeResponse)) {
    Object.defineProperty(constructor, key, Object.getOwnPropertyDescriptor(NativeResponse, key)!)
  }
  const { json } = NativeResponse
  define(
    constructor,
    'json',
    {
      json(data: unknown, init?: ResponseInit): Response {
        if (init === undefined) {
          const text = JSON.stringify(data)
          if (text !== undefined) return new LazyResponse(text, PLAIN_HEADS.json) as unknown as Response
        }
        return json(data, init)
      },
    }.json,
  )
  define(NativeResponse.prototype, 'constructor', constructor)
  define(globalThis, 'Response', constructor)
  const { clone } = NativeResponse.prototype
  define(
    NativeResponse.prototype,
    'clone',
    {
      clone(this: Response): Response {
        const copy = clone.call(this)
        if (streamed.has(this)) streamed.add(copy)
        return copy
      },
    }.clone,
  )
  installStreaming()
}

const constructor = function Response(this: unknown, body?: unknown, init?: unknown): object {
  if (new.target === undefined) {
    throw new TypeError("Class constructor Response cannot be invoked without 'new'")
  }
  const isText = typeof body === 'string'
  if (new.target === constructor && (isText || body === null || body === undefined)) {
    const head = readHead(isText, init)
    if (head !== null) return new LazyResponse(isText ? body : null, head)
  }
  const upgrade = toUpgrade(init)
  if (upgrade !== null) return upgrade
  const args = body instanceof Object ? [toFormBlob(body), init] : arguments
  const response = Reflect.construct(NativeResponse, args, new.target)
  if (isStream(body)) streamed.add(response)
  return response
}

function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null &&
    (body instanceof ReadableStream || Symbol.asyncIterator in body)
}

function readHead(isText: boolean, init: unknown): ReturnType<typeof toPlainHead> {
  if (init === undefined || init === null) return toPlainHead(isText, undefined, undefined, undefined)
  if (typeof init !== 'object') return null
  const { headers, status, statusText } = init as ResponseInit
  return toPlainHead(isText, status, statusText, headers)
}

/** What compiles WebAssembly of a response looks inside of it. */
function installStreaming(): void {
  if (globalThis.WebAssembly === undefined) return
  for (const name of ['compileStreaming', 'instantiateStreaming'] as const) {
    const native = WebAssembly[name] as (source: unknown, ...rest: unknown[]) => unknown
    define(
      WebAssembly,
      name,
      {
        [name](source: unknown, ...rest: unknown[]): unknown {
          return native.call(WebAssembly, Promise.resolve(source).then(LazyResponse.real), ...rest)
        },
      }[name],
    )
  }
}

/** As a method or a global is defined by the Web's interfaces. */
function define(target: object, name: string, value: unknown): void {
  const { enumerable } = Object.getOwnPropertyDescriptor(target, name)!
  Object.defineProperty(target, name, { value, writable: true, enumerable, configurable: true })
}
