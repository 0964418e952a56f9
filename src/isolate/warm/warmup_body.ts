/** Bodies of warm-up requests: from what people write to bytes, and back from a request that is recorded. */
import { joinBytes } from '../../context/join_bytes.ts'

/** A body and its content type, '' for none. */
export interface Body {
  readonly type: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Field of a multipart form: a value, or a file of text or bytes. */
interface Field {
  readonly name: string
  readonly value?: string
  readonly base64?: string
  readonly filename?: string
  readonly type?: string
}

const FIELD_MEMBERS: ReadonlySet<string> = new Set(['name', 'value', 'base64', 'filename', 'type'])
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i
const FORM_TYPE = /^application\/x-www-form-urlencoded\b/i
const MULTIPART_TYPE = /^multipart\/form-data\b/i
const BOUNDARY = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i

const encoder = new TextEncoder()
const strict = new TextDecoder('utf-8', { fatal: true })

/** What `value` means under a content type, see `WarmupRequest.body`. Throws `TypeError` for what that type cannot have. */
export function toBody(type: string | undefined, value: unknown): Body {
  if (type === undefined) {
    return typeof value === 'string'
      ? { type: 'text/plain; charset=utf-8', bytes: encoder.encode(value) }
      : { type: 'application/json', bytes: toJson(value) }
  }
  if (MULTIPART_TYPE.test(type)) return toMultipart(type, value)
  if (typeof value === 'string') return { type, bytes: encoder.encode(value) }
  if (JSON_TYPE.test(type)) return { type, bytes: toJson(value) }
  if (FORM_TYPE.test(type)) return { type, bytes: encoder.encode(String(toForm(value))) }
  return { type, bytes: fromBase64('body', (value as { base64?: unknown } | null)?.base64) }
}

/**
 * The member `body` of an entry that stands for these bytes, as {@link toBody} reads it; undefined where there is none that says the
 * same. `hide` may change the values of named members.
 */
export async function fromBody(
  { type, bytes }: Body,
  hide: (name: string, value: unknown) => unknown,
): Promise<unknown> {
  if (MULTIPART_TYPE.test(type)) return await fromMultipart(type, bytes, hide)
  const text = toText(bytes)
  if (text === null) return { base64: bytes.toBase64() }
  if (FORM_TYPE.test(type)) return fromForm(text, hide)
  if (!JSON_TYPE.test(type)) return text
  try {
    return JSON.parse(text, hide)
  } catch {
    return text
  }
}

function toJson(value: unknown): Uint8Array<ArrayBuffer> {
  return encoder.encode(JSON.stringify(value))
}

function toForm(value: unknown): URLSearchParams {
  const wrong = () =>
    new TypeError(`body is ${Deno.inspect(value)}, want text or an object of text for a form`)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong()
  const form = new URLSearchParams()
  for (const [name, given] of Object.entries(value)) {
    for (const each of Array.isArray(given) ? given : [given]) {
      if (typeof each !== 'string') throw wrong()
      form.append(name, each)
    }
  }
  return form
}

function fromForm(text: string, hide: (name: string, value: unknown) => unknown): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  const form = new URLSearchParams(text)
  for (const name of new Set(form.keys())) {
    const values = form.getAll(name).map((value) => hide(name, value))
    Object.defineProperty(members, name, {
      value: values.length === 1 ? values[0] : values,
      enumerable: true,
    })
  }
  return members
}

function toMultipart(type: string, value: unknown): Body {
  if (!Array.isArray(value)) {
    throw new TypeError(
      `body is ${Deno.inspect(value)}, want an array of { name, value } for a multipart form`,
    )
  }
  const parts = value.map((field, index) => toPart(field, `body[${index}]`))
  const given = BOUNDARY.exec(type)
  const boundary = given?.[1] ?? given?.[2] ?? 'mayfly-warmup-Vh8ZpXqKt3mWc5Rd'
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for (const { head, bytes } of parts) {
    chunks.push(encoder.encode(`--${boundary}\r\n${head}\r\n\r\n`), bytes, encoder.encode('\r\n'))
  }
  chunks.push(encoder.encode(`--${boundary}--\r\n`))
  return {
    type: given === null ? `${type.replace(/[\s;]+$/, '')}; boundary=${boundary}` : type,
    bytes: joinBytes(chunks),
  }
}

function toPart(value: unknown, where: string): { head: string; bytes: Uint8Array<ArrayBuffer> } {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : []
  const isField = members.every(([name, text]) => FIELD_MEMBERS.has(name) && typeof text === 'string')
  const { name, value: text, base64, filename, type } = Object(value) as Field
  if (
    !isField || name === undefined || (text === undefined) === (base64 === undefined) ||
    /[\r\n]/.test(type ?? '')
  ) {
    throw new TypeError(
      `${where} is ${
        Deno.inspect(value)
      }, want { name, value } or { name, filename, type, value or base64 }, all text`,
    )
  }
  const file = filename === undefined ? '' : `; filename="${escapeName(filename)}"`
  const kind = type ?? (filename === undefined ? undefined : 'application/octet-stream')
  return {
    head: `Content-Disposition: form-data; name="${escapeName(name)}"${file}` +
      (kind === undefined ? '' : `\r\nContent-Type: ${kind}`),
    bytes: base64 === undefined ? encoder.encode(text) : fromBase64(`${where}.base64`, base64),
  }
}

/** As the standard's multipart encoding has it. */
function escapeName(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')
}

async function fromMultipart(
  type: string,
  bytes: Uint8Array<ArrayBuffer>,
  hide: (name: string, value: unknown) => unknown,
): Promise<Field[] | undefined> {
  let form: FormData
  try {
    form = await new Response(bytes, { headers: { 'content-type': type } }).formData()
  } catch {
    return undefined
  }
  const fields: Field[] = []
  for (const [name, value] of form) {
    if (typeof value === 'string') {
      fields.push({ name, value: String(hide(name, value)) })
      continue
    }
    const file = { name, filename: value.name, ...(value.type === '' ? {} : { type: value.type }) }
    const content = await value.bytes()
    const text = toText(content)
    fields.push(text === null ? { ...file, base64: content.toBase64() } : { ...file, value: text })
  }
  return fields
}

function fromBase64(name: string, value: unknown): Uint8Array<ArrayBuffer> {
  const wanted = name === 'body' ? 'text or { base64 }' : 'base64'
  if (typeof value !== 'string') throw new TypeError(`${name} is ${Deno.inspect(value)}, want ${wanted}`)
  try {
    return Uint8Array.fromBase64(value)
  } catch {
    throw new TypeError(`${name} is ${Deno.inspect(value)}, want ${wanted}`)
  }
}

/** Null for what is no UTF-8, or would not come back as the same bytes. */
function toText(bytes: Uint8Array): string | null {
  try {
    const text = strict.decode(bytes)
    return encoder.encode(text).length === bytes.length ? text : null
  } catch {
    return null
  }
}
