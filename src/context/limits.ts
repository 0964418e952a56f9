/**
 * How many of a thing there may be in one request. What holds them looks for doubles by walking through them, so that twice as many take
 * four times as long. The same in a machine as outside of it.
 */

/** Headers that a response may be given by `ctx.set`, and that the answer of an isolated handler may have; each value of one counts. */
export const MAX_RESPONSE_HEADERS = 256
/** Cookies of a request, 431 over it. */
export const MAX_COOKIES = 256
/** Parameters of a query, 414 over it. */
export const MAX_QUERY_PARAMETERS = 1024
/** Fields of a form, files among them, 413 over it. */
export const MAX_FORM_FIELDS = 1024

/** How often `mark` stands in a text; counts no further than to one over `most`. */
export function countUpTo(most: number, text: string, mark: string): number {
  let count = 0
  for (let at = text.indexOf(mark); at !== -1 && count <= most; at = text.indexOf(mark, at + 1)) count++
  return count
}
