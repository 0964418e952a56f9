/** The body of a warm-up request that nobody chose. */
import type { BodyHint } from './body_hints.ts'
import type { HintedRoute, RequestHints } from './request_hints.ts'
import { sampleForm, sampleValue } from './sample_value.ts'
import { sampleText } from './text_kinds.ts'

/** A body, and the headers that say what it is, as an entry of `warmup` has them. */
export interface SampleBody {
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** The body of request `turn` (-1 for the probe) to a route; undefined where the file tells of none. */
export function sampleBody(
  { method, path }: HintedRoute,
  hints: RequestHints,
  turn: number,
): SampleBody | undefined {
  const bodies = bodiesOf(hints.bodies, method, path)
  if (bodies.length === 0) return undefined
  const { read, shape } = bodies[Math.abs(turn) % bodies.length]!
  const occasion = { turn, texts: hints.texts }
  const isForm = read === 'form' || (read === 'any' && turn % 2 === 0)
  if (isForm) return toForm(sampleForm(shape, occasion) ?? { id: 'warmup' }, turn)
  if (read === 'text') return toTyped('text/plain;charset=UTF-8', sampleText(hints.texts, turn))
  if (read === 'bytes') return toBytes(hints, turn)
  return toTyped('application/json', JSON.stringify(sampleValue(shape, occasion)))
}

function toTyped(type: string, body: unknown): SampleBody {
  return { headers: { 'content-type': type }, body }
}

/** Every fourth as a multipart form. */
function toForm(fields: Readonly<Record<string, string>>, turn: number): SampleBody {
  if (turn % 4 !== 2) return toTyped('application/x-www-form-urlencoded;charset=UTF-8', fields)
  return toTyped('multipart/form-data', Object.entries(fields).map(([name, value]) => ({ name, value })))
}

function toBytes({ texts, bytes }: RequestHints, turn: number): SampleBody {
  const own = bytes[Math.abs(turn) % (bytes.length + 1)]
  return toTyped('application/octet-stream', own === undefined ? sampleText(texts, turn) : { base64: own })
}

/** What this handler reads, else what stands outside of all of them, else nothing. */
function bodiesOf(bodies: readonly BodyHint[], method: string | null, path: string): readonly BodyHint[] {
  const own = bodies.filter(({ handler }) =>
    path === '/' && handler === method || handler === `${method} ${path}`
  )
  return own.length > 0 ? own : bodies.filter(({ handler }) => handler === null)
}
