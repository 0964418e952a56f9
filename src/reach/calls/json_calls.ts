/** Calls of programs in C and the like, which have no structured clones: JSON, and bytes beside it. */
import { PLAIN_MARK } from '../../values/format.ts'
import { decodeValue } from '../../values/decode.ts'
import { CallError } from './bindings.ts'
import { type HostHead, MAX_VALUE, type Message } from './protocol.ts'

const encoder = new TextEncoder()

/**
 * The arguments: `jsonBytes` of the body are an array, and what is behind them the last one, where `beside` is 'bytes'. Throws `CallError`
 * for what are none.
 */
export function readArguments(
  body: Uint8Array<ArrayBuffer>,
  jsonBytes: unknown,
  beside: unknown,
): readonly unknown[] {
  const end = Number.isInteger(jsonBytes) ? jsonBytes as number : -1
  const hasBytes = beside === 'bytes'
  if (end < 0 || end > body.length || (end < body.length && !hasBytes)) {
    throw new CallError('Cannot call the host: the length of the arguments is none')
  }
  const message = new Uint8Array(end + 1)
  message[0] = PLAIN_MARK
  message.set(body.subarray(0, end), 1)
  let args: unknown
  try {
    args = decodeValue(message)
  } catch {
    throw new CallError('Cannot call the host: the arguments are no JSON')
  }
  if (!Array.isArray(args)) throw new CallError('Cannot call the host: the arguments are no list')
  return hasBytes ? [...args, body.slice(end)] : args
}

/** What a function gave. Throws `CallError` for a value that has no such form, or is too large. */
export function toJsonValue(value: unknown): Omit<Message, 'id'> {
  if (value instanceof ReadableStream) {
    throw new CallError('The host gave a stream, want a value that has a JSON form, or bytes')
  }
  const bytes = toBytes(value)
  const body = bytes ?? encoder.encode(toJson(value))
  if (body.length > MAX_VALUE) {
    throw new CallError(`The host gave a value of ${body.length} bytes, want at most ${MAX_VALUE}`)
  }
  return { head: toHead([bytes === null ? 'value' : 'bytes']), body }
}

/** What a function threw. */
export function toJsonFailure(error: Error): Omit<Message, 'id'> {
  const { code } = error as { code?: unknown }
  return {
    head: toHead(['error', error.name, typeof code === 'string' ? code : null]),
    body: encoder.encode(error.message),
  }
}

function toBytes(value: unknown): Uint8Array<ArrayBuffer> | null {
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (!(value instanceof Uint8Array)) return null
  return value.buffer instanceof ArrayBuffer ? value as Uint8Array<ArrayBuffer> : new Uint8Array(value)
}

function toJson(value: unknown): string {
  try {
    // What has no JSON form, as undefined.
    return JSON.stringify(value) ?? 'null'
  } catch (error) {
    throw new CallError(`The host gave a value without a JSON form: ${(error as Error).message}`)
  }
}

function toHead(head: HostHead): Uint8Array<ArrayBuffer> {
  return encoder.encode(JSON.stringify(head))
}
