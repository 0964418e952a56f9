/** The requests of a soak, and what each must be answered with. */

/** A kind of request. */
export interface Kind {
  readonly name: string
  /** Path with query; the clean kinds get an `id` as well. */
  readonly path: string
  readonly status: number
  /** The `type` of the problem, or the whole body; none where {@linkcode wanted} makes it from the id. */
  readonly type?: string
  readonly body?: string
  /** Only in one of so many turns, as it costs too much. */
  readonly every?: number
}

/** Answered with the id and `calls: 1`. */
export const CLEAN: readonly Kind[] = [
  { name: 'hello', path: '/hello', status: 200 },
  { name: 'count', path: '/count', status: 200 },
]

/** Each ends in its own way. */
export const HOSTILE: readonly Kind[] = [
  { name: 'throw', path: '/do?what=throw', status: 500, type: 'about:blank' },
  { name: 'throw a trap', path: '/do?what=throw_trap', status: 500, type: 'about:blank' },
  { name: 'exit', path: '/do?what=exit', status: 502, type: 'isolation-crash' },
  { name: 'crash', path: '/do?what=crash', status: 502, type: 'isolation-crash' },
  { name: 'output over', path: '/do?what=output', status: 502, type: 'isolation-output' },
  { name: 'log flood', path: '/do?what=log', status: 200, body: 'done' },
  { name: 'memory hog', path: '/do?what=memory', status: 507, type: 'isolation-memory', every: 5 },
  { name: 'exit after the answer', path: '/do?what=late', status: 200, body: 'answered' },
  { name: 'endless loop', path: '/loop?what=spin', status: 504, type: 'isolation-timeout' },
  { name: 'endless microtasks', path: '/loop?what=microtasks', status: 504, type: 'isolation-timeout' },
  { name: 'regexp bomb', path: '/loop?what=regexp', status: 504, type: 'isolation-timeout' },
]

/** The same requests in every run: hostile ones at even distances, each kind in turn. */
export function kindOf(id: number, hostile: number): Kind {
  const before = Math.floor(id * hostile)
  if (Math.floor((id + 1) * hostile) === before) return CLEAN[id % CLEAN.length]
  const turn = Math.floor(before / HOSTILE.length)
  const kind = HOSTILE[before % HOSTILE.length]
  return turn % (kind.every ?? 1) === 0 ? kind : HOSTILE[(before + 1) % HOSTILE.length]
}

/** Why an answer is wrong; undefined when it is right. */
export function findFault(kind: Kind, id: number, status: number, text: string): string | undefined {
  if (status !== kind.status) return `status ${status}, want ${kind.status}: ${text.slice(0, 200)}`
  if (kind.type !== undefined) {
    const type = (JSON.parse(text) as { type?: unknown }).type
    return type === kind.type ? undefined : `type ${type}, want ${kind.type}`
  }
  const wanted = kind.body ?? bodyOf(kind, id)
  return text === wanted ? undefined : `${text.slice(0, 200)}, want ${wanted}`
}

function bodyOf({ name }: Kind, id: number): string {
  return JSON.stringify({ id: String(id), calls: 1, ...(name === 'count' ? { marks: [] } : {}) })
}
