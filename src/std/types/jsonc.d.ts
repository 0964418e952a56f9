/** JSON with comments and trailing commas (deno-std jsonc). */
export function parse(text: string): unknown
