/** HTML entities (deno-std html): escapes & < > " and the apostrophe. */
export function escape(str: string): string
export function unescape(str: string): string
