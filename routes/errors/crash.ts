import type { Handler } from '@mayfly/mayfly'

/** A mistake. Its message names a secret, which no client will read in production. */
export const GET: Handler = () => {
  const wings: { count: number } | undefined = JSON.parse('null')
  return Response.json({ pairs: wings!.count / 2 })
}
