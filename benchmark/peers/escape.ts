const SPECIAL = /[&<>"']/
const ALL_SPECIAL = /[&<>"']/g
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text for HTML, as somebody writes it who wants it fast. */
export function escape(text: string): string {
  return SPECIAL.test(text) ? text.replace(ALL_SPECIAL, (special) => ENTITIES[special]) : text
}
