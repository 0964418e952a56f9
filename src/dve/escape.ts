/** Values as text, and text as HTML. */
import { objectText } from './operators.ts'

/** The text of a value: nothing for null, undefined, functions and symbols. */
export function toText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'object':
      return value === null ? '' : objectText(value)
    case 'number':
    case 'boolean':
    case 'bigint':
      return '' + value
    default:
      return ''
  }
}

/** The text of a value with `& < > " '` as entities. Text without them is given back as it is. */
export function escapeValue(value: unknown): string {
  if (typeof value === 'number') return '' + value
  return escapeText(typeof value === 'string' ? value : toText(value))
}

/** Shorter text is looked at character by character; a search costs more to start and less to run. */
const SHORT_TEXT = 24
const SPECIAL = /[&<>"']/

function escapeText(text: string): string {
  const { length } = text
  if (length > SHORT_TEXT) {
    const at = text.search(SPECIAL)
    return at < 0 ? text : escapeFrom(text, at)
  }
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code <= 62 && (code === 38 || code === 60 || code === 62 || code === 34 || code === 39)) {
      return escapeFrom(text, i)
    }
  }
  return text
}

function escapeFrom(text: string, first: number): string {
  let result = ''
  let from = 0
  for (let i = first; i < text.length; i++) {
    let entity: string
    switch (text.charCodeAt(i)) {
      case 38:
        entity = '&amp;'
        break
      case 60:
        entity = '&lt;'
        break
      case 62:
        entity = '&gt;'
        break
      case 34:
        entity = '&quot;'
        break
      case 39:
        entity = '&#39;'
        break
      default:
        continue
    }
    result += text.slice(from, i) + entity
    from = i + 1
  }
  return result + text.slice(from)
}
