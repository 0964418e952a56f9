/** What a terminal takes for a command, or for a change of direction; line feeds and tabs only lay text out. */
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/**
 * A text of a guest or a client for the terminal or a log: control characters (C0, C1, among them ESC), separators of lines and marks of
 * writing direction become what JavaScript writes for them, `\x1b` or `\u202e`.
 */
export function toPrintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const code = character.charCodeAt(0).toString(16)
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`
  })
}
