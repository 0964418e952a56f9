/** How many fields a form has, found before it is parsed. */
import { HttpError } from '../errors/http_error.ts'
import { MAX_FORM_FIELDS } from './limits.ts'

/** Throws 413 for a form of too many fields. `boundary` is null for an urlencoded form. */
export function checkForm(bytes: Uint8Array, boundary: string | null): void {
  // A multipart form ends with one delimiter more.
  const [mark, most] = boundary === null ? ['&', MAX_FORM_FIELDS - 1] : [`--${boundary}`, MAX_FORM_FIELDS + 1]
  if (isWithin(bytes, new TextEncoder().encode(mark), most)) return
  throw new HttpError(413, `The form has more than ${MAX_FORM_FIELDS} fields`)
}

/** Whether `mark` stands at most `most` times in the bytes, wherever. Each byte is read once (Knuth, Morris and Pratt). */
function isWithin(bytes: Uint8Array, mark: Uint8Array, most: number): boolean {
  const back = toBack(mark)
  let count = 0
  let matched = 0
  for (const byte of bytes) {
    while (matched > 0 && byte !== mark[matched]) matched = back[matched - 1]!
    if (byte === mark[matched]) matched++
    if (matched < mark.length) continue
    if (++count > most) return false
    matched = back[matched - 1]!
  }
  return true
}

/** For each length of a match how much of it can begin the next one. */
function toBack(mark: Uint8Array): number[] {
  const back = [0]
  for (let i = 1, matched = 0; i < mark.length; i++) {
    while (matched > 0 && mark[i] !== mark[matched]) matched = back[matched - 1]!
    if (mark[i] === mark[matched]) matched++
    back.push(matched)
  }
  return back
}
