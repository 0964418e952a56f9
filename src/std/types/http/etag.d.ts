/** Entity tags by RFC 9110 section 8.8.3 (deno-std http/etag). */
export interface FileInfo {
  mtime: Date | null
  size: number
}
export function eTag(
  entity: string | Uint8Array | FileInfo,
  options?: { algorithm?: string; weak?: boolean },
): Promise<string | undefined>
export function ifMatch(value: string | null, etag: string | undefined): boolean
export function ifNoneMatch(value: string | null, etag: string | undefined): boolean
