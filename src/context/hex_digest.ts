import { joinBytes } from './join_bytes.ts'

/** SHA-256 of all parts, one after the other, as hex digits: the name of what follows from them. */
export async function hexDigest(...parts: readonly (string | Uint8Array)[]): Promise<string> {
  const encoder = new TextEncoder()
  const bytes = joinBytes(parts.map((part) => typeof part === 'string' ? encoder.encode(part) : part))
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()
}
