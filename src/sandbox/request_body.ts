/** Bodies of requests to programs: whole where they are short, else as they come. */
import { joinBytes } from '../context/join_bytes.ts'
import { beginBody, type BegunBody, BodySource, isWhole } from '../context/body_source.ts'
import type { RequestBody } from '../reach/streams/request_channel.ts'
import { LimitError, TimeoutError } from './errors.ts'
import type { ResolvedLimits } from './limits.ts'

/** A body of which all has come. */
const NO_BODY: BegunBody = Object.freeze({ first: new Uint8Array(0), rest: null })

/** What has come of a body of up to `most` bytes. Rejects with `LimitError` for more, and with what the body fails with. */
export async function takeBody(
  { body, headers }: Request,
  most: number,
  streams: boolean,
): Promise<BegunBody> {
  if (body === null) return NO_BODY
  const tooLarge = () =>
    new LimitError(`The body of the request is over the limit of ${most} bytes`, {
      name: 'maxBodyBytes',
      value: most,
    })
  const source = new BodySource(body, most, { tooLarge, brokeOff: (cause) => cause })
  return streams && !isWhole(headers) ? await beginBody(source) : { first: await readAll(source), rest: null }
}

/** What a program may ask for of the rest. */
export function toRequestBody(
  source: BodySource,
  { options: { timeoutMs, limits } }: ResolvedLimits,
  failed: (error: unknown) => void,
): RequestBody {
  return {
    source,
    timeoutMs,
    failed,
    tooSlow: (name) =>
      new TimeoutError(`The body of the request came too slowly: over ${name}, ${limits[name]} ms`, {
        name,
        value: limits[name],
      }),
  }
}

async function readAll(source: BodySource): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  try {
    for (;;) {
      const chunk = await source.take()
      if (chunk === null) return joinBytes(chunks)
      chunks.push(chunk)
    }
  } catch (error) {
    source.cancel()
    throw error
  }
}
