/**
 * Texts in files of `isolate.cacheDir`, each behind its digest.
 *
 * ```text
 * digest of the rest, 64 hex digits | line feed | text
 * ```
 */
import { equals } from '@std/bytes'
import { basename, dirname, join } from '@std/path'
import { hexDigest } from '../../context/hex_digest.ts'

/** Hex digits of SHA-256. */
const DIGITS = 64

/** The text of a file; null where it is damaged. Rejects where it cannot be read. */
export async function readKept(path: string): Promise<string | null> {
  const bytes = await Deno.readFile(path)
  const rest = bytes.subarray(DIGITS + 1)
  const decoder = new TextDecoder()
  return decoder.decode(bytes.subarray(0, DIGITS)) === await hexDigest(rest) ? decoder.decode(rest) : null
}

/** Notes that a file is of use: of what was used last the most stays. */
export async function touchKept(path: string): Promise<void> {
  const now = new Date()
  await Deno.utime(path, now, now)
}

/** Writes a text, unless it lies there already; a reader sees the former file or the whole new one. */
export async function writeKept(path: string, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(`${await hexDigest(text)}\n${text}`)
  const there = await Deno.readFile(path).catch(() => null)
  if (there !== null && equals(there, bytes)) return
  const draft = join(dirname(path), `.${basename(path)}.${crypto.randomUUID()}.tmp`)
  try {
    await Deno.writeFile(draft, bytes, { createNew: true, mode: 0o600 })
    await Deno.rename(draft, path)
  } catch (error) {
    await Deno.remove(draft).catch(() => {})
    throw error
  }
}
