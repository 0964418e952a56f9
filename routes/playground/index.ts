import type { Handler } from '@mayfly/mayfly'
import { showPlayground } from '../_lib/playground/page.ts'
import { findSample } from '../_lib/playground/samples.ts'

/** `?sample=` names the program to start from. */
export const GET: Handler = (ctx) => {
  const { id, code, language } = findSample(ctx.get.query('sample'))
  return showPlayground(ctx, { id, code, language })
}
