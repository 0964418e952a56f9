/** Cases of the differential table: small functions over the Web surface whose result must be the same in every runtime. */

/** The names of the global object. */
export type Web = typeof globalThis
/** One case. It uses nothing of the global object but the language, and what `web` has. */
export type Case = (web: Web) => unknown
export type Cases = Readonly<Record<string, Case>>

/** The name of what `run` throws, or rejects with, and whether it is a `DOMException`; else what it gives. */
export function caught(web: Web, run: () => unknown): unknown {
  const toName = (error: unknown) =>
    `${(error as Error).name}${error instanceof web.DOMException ? ' (DOM)' : ''}`
  try {
    const result = run()
    return result instanceof Promise ? result.catch(toName) : result
  } catch (error) {
    return toName(error)
  }
}

/** The result of a case as text: what has no JSON form is named. */
export async function outcomeOf(web: Web, run: Case): Promise<string> {
  const result = await caught(web, async () => await run(web))
  return JSON.stringify(result, (_key, value) => {
    if (value === undefined) return '[undefined]'
    if (typeof value === 'bigint') return `${value}n`
    if (typeof value === 'number' && !Number.isFinite(value)) return `[${value}]`
    if (Object.is(value, -0)) return '[-0]'
    if (value instanceof ArrayBuffer) return { buffer: [...new Uint8Array(value)] }
    if (value instanceof Uint8Array) return { bytes: [...value] }
    if (value instanceof Map) return { map: [...value] }
    if (value instanceof Set) return { set: [...value] }
    return value
  }) ?? '[undefined]'
}
