/** `multipart/form-data`, RFC 7578, written as https://html.spec.whatwg.org/#multipart-form-data says. */
import { blobBytes, File } from './blob.ts'
import { encodeText, joinBytes } from './bytes.ts'
import { FormData, formEntries } from './form_data.ts'
import { host } from './host.ts'

const CR = 13
const LF = 10
const DASH = 45
/** No part has longer headers, in bytes. */
const HEADERS_MAX = 16_384

/** A form as bytes, and the boundary between its parts. */
export function writeMultipart(form: FormData): { bytes: Uint8Array<ArrayBuffer>; boundary: string } {
  const boundary = `----formdata-mayfly-${randomDigits()}`
  const chunks: Uint8Array[] = []
  for (const [name, value] of formEntries(form)) {
    let head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(toCrLf(name))}"`
    if (value instanceof File) {
      head += `; filename="${escapeName(value.name)}"\r\nContent-Type: ${
        value.type || 'application/octet-stream'
      }`
    }
    const content = value instanceof File ? blobBytes(value) : encodeText(toCrLf(value))
    chunks.push(encodeText(`${head}\r\n\r\n`), content, encodeText('\r\n'))
  }
  chunks.push(encodeText(`--${boundary}--\r\n`))
  return { bytes: joinBytes(chunks), boundary }
}

/** The form in `bytes`. Throws `TypeError` when there is none. */
export function readMultipart(bytes: Uint8Array<ArrayBuffer>, boundary: string): FormData {
  const mark = encodeText(`--${boundary}`)
  const form = new FormData()
  let delimiter = findDelimiter(bytes, mark, 0)
  if (delimiter === null) throw new TypeError('Cannot read a form: its boundary is missing')
  while (!delimiter.last) {
    const start = delimiter.end
    const next = findDelimiter(bytes, mark, start)
    // The body broke off inside a part: what came before it counts.
    if (next === null) return form
    readPart(bytes.subarray(start, Math.max(next.start - 2, start)), form)
    delimiter = next
  }
  return form
}

interface Delimiter {
  /** Where its dashes begin. */
  readonly start: number
  /** Where what follows it begins. */
  readonly end: number
  readonly last: boolean
}

/** The next delimiter at the start of a line. */
function findDelimiter(bytes: Uint8Array, mark: Uint8Array, from: number): Delimiter | null {
  for (let at = bytes.indexOf(DASH, from); at !== -1; at = bytes.indexOf(DASH, at + 1)) {
    const atLine = at === 0 || (bytes[at - 2] === CR && bytes[at - 1] === LF)
    if (!atLine || !startsWith(bytes, mark, at)) continue
    let end = at + mark.length
    const last = bytes[end] === DASH && bytes[end + 1] === DASH
    if (last) end += 2
    while (bytes[end] === 32 || bytes[end] === 9) end++
    if (last && end === bytes.length) return { start: at, end, last }
    if (bytes[end] === CR && bytes[end + 1] === LF) return { start: at, end: end + 2, last }
  }
  return null
}

function startsWith(bytes: Uint8Array, mark: Uint8Array, at: number): boolean {
  for (let i = 0; i < mark.length; i++) if (bytes[at + i] !== mark[i]) return false
  return true
}

/** Adds the entry of a part; one without a name is left out. */
function readPart(part: Uint8Array<ArrayBuffer>, form: FormData): void {
  const end = endOfHeaders(part)
  if (end === -1) return
  const headers = new Map<string, string>()
  for (const line of host.decodeUtf8(part.subarray(0, end), false).split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon !== -1) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim())
  }
  const { name, filename } = readDisposition(headers.get('content-disposition') ?? '')
  if (name === undefined || name === '') return
  const content = part.subarray(end + 4)
  if (filename === undefined) return form.append(name, host.decodeUtf8(content, false))
  const type = headers.get('content-type') || 'application/octet-stream'
  form.append(name, new File([content], filename, { type }))
}

function endOfHeaders(part: Uint8Array): number {
  for (let at = part.indexOf(CR); at !== -1 && at <= HEADERS_MAX; at = part.indexOf(CR, at + 1)) {
    if (part[at + 1] === LF && part[at + 2] === CR && part[at + 3] === LF) return at
  }
  return -1
}

/** The parameters of a Content-Disposition. As the standard has it, a quoted one ends at the next quotation mark and a backslash is itself. */
function readDisposition(value: string): { name?: string; filename?: string } {
  const found: Record<string, string> = {}
  for (const [, name, quoted, plain] of value.matchAll(/;\s*([^=\s;]+)\s*=\s*(?:"([^"]*)"|([^";\s]*))/g)) {
    found[name.toLowerCase()] = quoted ?? plain
  }
  return found
}

function toCrLf(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '\r\n')
}

function escapeName(name: string): string {
  return name.replace(/\n/g, '%0A').replace(/\r/g, '%0D').replace(/"/g, '%22')
}

function randomDigits(): string {
  const random = new Uint8Array(12)
  host.entropy(random)
  return [...random].map((byte) => String(byte % 10)).join('')
}
