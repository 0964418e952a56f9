/** Names and values of headers, by RFC 9110, section 5. Each text is read once. */

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Bytes, and none that ends a header. */
const VALUE = /^[^\0\r\n\u0100-\uffff]*$/

/** Whether it is the name of a header. */
export function isHeaderName(text: string): boolean {
  return NAME.test(text)
}

/** Whether a header can have this value. */
export function isHeaderValue(text: string): boolean {
  return VALUE.test(text)
}

/**
 * A value without white space at its ends, as every header is sent. `Headers` does that too, by an expression that takes the square of a
 * value's length where there is any.
 */
export function trimHeaderValue(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isSpace(text.charCodeAt(start))) start++
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d
}
