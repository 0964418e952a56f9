/** Stream helpers (deno-std streams). */
export function toText(stream: ReadableStream): Promise<string>
export function toBytes(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>>
export function toJson(stream: ReadableStream): Promise<unknown>
export class LimitedBytesTransformStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(size: number, options?: { error?: boolean })
}
export class ByteSliceStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(start?: number, end?: number)
}
export class TextLineStream extends TransformStream<string, string> {
  constructor(options?: { allowCR?: boolean })
}
export function mergeReadableStreams<T>(...streams: ReadableStream<T>[]): ReadableStream<T>
