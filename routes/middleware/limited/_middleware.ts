import { rateLimit } from '@mayfly/mayfly'

export default rateLimit({ limit: 3, windowMs: 10_000, message: 'Three requests in ten seconds, no more' })
