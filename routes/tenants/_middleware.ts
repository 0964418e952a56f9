import { rateLimit } from '@mayfly/mayfly'

/** Requests in the name of a visitor count as his own. */
export default rateLimit({
  limit: 120,
  windowMs: 60_000,
  message: 'A hundred and twenty a minute are enough',
})
