/** base64url by RFC 4648 section 5, unpadded (deno-std encoding/base64url). */
export function encodeBase64Url(data: ArrayBuffer | Uint8Array | string): string
export function decodeBase64Url(b64url: string): Uint8Array<ArrayBuffer>
