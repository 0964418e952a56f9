/** The whole differential table. */
import { BODIES } from './bodies.ts'
import type { Cases } from './case.ts'
import { CLONES } from './clones.ts'
import { CRYPTO } from './crypto.ts'
import { ENCODING } from './encoding.ts'
import { EVENTS } from './events.ts'
import { HEADERS } from './headers.ts'
import { MESSAGES } from './messages.ts'
import { REQUESTS } from './requests.ts'
import { STREAMS } from './streams.ts'
import { TIMERS } from './timers.ts'
import { URLS } from './url.ts'

export const CASES: Cases = {
  ...HEADERS,
  ...URLS,
  ...ENCODING,
  ...BODIES,
  ...REQUESTS,
  ...STREAMS,
  ...EVENTS,
  ...TIMERS,
  ...CLONES,
  ...CRYPTO,
  ...MESSAGES,
}
