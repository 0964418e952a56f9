import { bodyLimit, rateLimit } from '@mayfly/mayfly'
import { MAX_BODY } from '../../_lib/playground/attempt.ts'

/** In the host, before a byte of the body is read: a burst of twenty runs for each address, and twenty in each minute after it. */
export default [
  rateLimit({
    limit: 20,
    windowMs: 60_000,
    message: 'Twenty programs a minute are enough, wait a little',
  }),
  bodyLimit({ limit: MAX_BODY }),
]
