import type { Handler } from '@mayfly/mayfly'

/** A mistake, as they happen. In production no client reads its message. */
export const GET: Handler = () => {
  const wings: { count: number } | undefined = JSON.parse('null')
  return Response.json({ pairs: wings!.count / 2 })
}
