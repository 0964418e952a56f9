/** Bodies of requests, which go to a machine whole. */
import { joinBytes } from '../context/join_bytes.ts'
import { LimitError } from './errors.ts'

/** The body of a request, up to `most` bytes. Rejects with `LimitError` for more. */
export async function readBody(request: Request, most: number): Promise<Uint8Array<ArrayBuffer>> {
  if (request.body === null) return new Uint8Array(0)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body) {
    size += chunk.length
    if (size > most) {
      throw new LimitError(`The body of the request is over the limit of ${most} bytes`, {
        name: 'maxBodyBytes',
        value: most,
      })
    }
    chunks.push(chunk)
  }
  return joinBytes(chunks)
}
