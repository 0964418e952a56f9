/** MIME types. https://mimesniff.spec.whatwg.org/#parsing-a-mime-type */

export interface MimeType {
  /** `type/subtype` in lower case. */
  readonly essence: string
  /** Names in lower case; of a name that repeats the first. */
  readonly parameters: ReadonlyMap<string, string>
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** Parses a type. Null for what is none. */
export function parseMimeType(text: string): MimeType | null {
  const [head, ...rest] = splitOutsideQuotes(trim(text))
  const slash = head.indexOf('/')
  const type = head.slice(0, slash)
  const subtype = head.slice(slash + 1).replace(/[\t\n\r ]+$/, '')
  if (slash === -1 || !TOKEN.test(type) || !TOKEN.test(subtype)) return null
  const parameters = new Map<string, string>()
  for (const item of rest) {
    const equals = item.indexOf('=')
    if (equals === -1) continue
    const name = item.slice(0, equals).replace(/^[\t\n\r ]+/, '').toLowerCase()
    const value = unquote(item.slice(equals + 1))
    const valid = TOKEN.test(name) && /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value.text)
    if (valid && (value.quoted || value.text !== '') && !parameters.has(name)) {
      parameters.set(name, value.text)
    }
  }
  return { essence: `${type}/${subtype}`.toLowerCase(), parameters }
}

/** A type as text. */
export function serializeMimeType({ essence, parameters }: MimeType): string {
  let text = essence
  for (const [name, value] of parameters) {
    text += `;${name}=${TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`
  }
  return text
}

/** Parts between semicolons; one inside quotation marks is text. */
function splitOutsideQuotes(text: string): string[] {
  const parts: string[] = []
  let start = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const c = text[at]
    if (quoted && c === '\\') at++
    else if (c === '"') quoted = !quoted
    else if (c === ';' && !quoted) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return parts
}

function trim(text: string): string {
  return text.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '')
}

function unquote(text: string): { text: string; quoted: boolean } {
  const quoted = /^"((?:[^"\\]|\\[^])*)/.exec(text)
  if (quoted === null) return { text: text.replace(/[\t\n\r ]+$/, ''), quoted: false }
  return { text: quoted[1].replace(/\\([^])/g, '$1'), quoted: true }
}
