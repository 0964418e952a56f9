/** A version for the site's assets: the digest of all of them. */
import { encodeBase64Url } from '@std/encoding/base64url'

/**
 * A function that gives the digest of every file below `folder`, eleven characters of SHA-256. With `keep` it is computed
 * once, else at each call.
 */
export function assetVersion(folder: URL, keep: boolean): () => Promise<string> {
  let kept: Promise<string> | undefined
  return () => {
    if (!keep) return digestFolder(folder)
    return kept ??= digestFolder(folder).catch((error) => {
      kept = undefined
      throw error
    })
  }
}

async function digestFolder(folder: URL): Promise<string> {
  const names: string[] = []
  for await (const entry of Deno.readDir(folder)) if (entry.isFile) names.push(entry.name)
  const parts: Uint8Array<ArrayBuffer>[] = []
  for (const name of names.sort()) parts.push(await Deno.readFile(new URL(name, folder)))
  const digest = await crypto.subtle.digest('SHA-256', await new Blob(parts).arrayBuffer())
  return encodeBase64Url(digest).slice(0, 11)
}
