import { rateLimit } from '@mayfly/mayfly'

/** Runs in the host, before the machine. */
export default rateLimit({
  limit: 120,
  windowMs: 60_000,
  message: 'A hundred and twenty a minute are enough',
})
