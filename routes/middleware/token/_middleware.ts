import { bearerAuth } from '@mayfly/mayfly'

/** The token is on the page that uses it; it guards nothing but the demonstration. */
export default bearerAuth({ tokens: ['a-day-in-may'], realm: 'Mayfly' })
