/** Whether two arrays hold the same bytes (deno-std bytes). */
export function equals(a: Uint8Array, b: Uint8Array): boolean
