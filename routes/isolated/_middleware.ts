import { rateLimit } from '@mayfly/mayfly'

/** Runs in the host, before the machine: a visitor may not keep the machines busy alone. */
export default rateLimit({
  limit: 240,
  windowMs: 60_000,
  message: 'Two hundred and forty a minute are enough',
})
