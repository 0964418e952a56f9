import { bodyLimit, rateLimit } from '@mayfly/mayfly'
import { MAX_BODY } from '../../_lib/playground/attempt.ts'

/** In the host, before a byte of the body is read. */
export default [
  rateLimit({ limit: 20, windowMs: 60_000, message: 'Twenty drafts a minute are enough, wait a little' }),
  bodyLimit({ limit: MAX_BODY }),
]
