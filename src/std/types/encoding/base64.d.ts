/** base64 by RFC 4648 section 4 (deno-std encoding/base64). */
export function encodeBase64(data: ArrayBuffer | Uint8Array | string): string
export function decodeBase64(b64: string): Uint8Array<ArrayBuffer>
