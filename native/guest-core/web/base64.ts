/** `atob` and `btoa`. https://html.spec.whatwg.org/multipage/webappapis.html#atob */
import { DOMException } from './dom_exception.ts'
import { host } from './host.ts'
import { need, toText } from './webidl.ts'

export function atob(data: unknown): string {
  need(arguments.length, 1, 'atob')
  const text = toText(data)
  try {
    return host.atob(text)
  } catch {
    throw new DOMException('Cannot decode base64: the text is not correctly encoded', 'InvalidCharacterError')
  }
}

export function btoa(data: unknown): string {
  need(arguments.length, 1, 'btoa')
  const text = toText(data)
  try {
    return host.btoa(text)
  } catch {
    throw new DOMException(
      'Cannot encode base64: the text has characters over U+00FF',
      'InvalidCharacterError',
    )
  }
}
