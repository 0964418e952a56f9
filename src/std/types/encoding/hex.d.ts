/** Hexadecimal by RFC 4648 section 8 (deno-std encoding/hex). */
export function encodeHex(src: string | Uint8Array | ArrayBuffer): string
export function decodeHex(src: string): Uint8Array<ArrayBuffer>
