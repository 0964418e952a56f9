/** Reports what handlers were refused because a grant was missing: every time by an event, the first time by a line on standard error. */
import type { Refusals } from './admission.ts'
import { CONNECTION_HEADERS } from '../plan/grants.ts'
import type { Denied } from '../machines/outcome.ts'

/** What standard error has said, by handler: grants are few, as their names are those of known headers and of middleware's. */
const told = new WeakMap<object, Set<string>>()

/** The metadata of an event for the refusals of one request: `reason` is the grant that was missing. */
export function refusedOf(refusals: Refusals): Denied[] {
  return [...refusals].map(([reason, times]) => ({ reason, times }))
}

/** Says once for each handler and grant what was dropped and what would grant it. `key` names the handler. */
export function warnOfRefusals(handler: object, key: string, refusals: Refusals): void {
  const known = told.get(handler) ?? new Set()
  told.set(handler, known)
  for (const grant of refusals.keys()) {
    if (known.has(grant)) continue
    known.add(grant)
    console.error(`mayfly: isolated ${key}: ${toSentence(grant)}`)
  }
}

function toSentence(grant: string): string {
  const name = grant.startsWith('headers:') ? grant.slice('headers:'.length) : ''
  if (CONNECTION_HEADERS.has(name)) {
    return `its header ${name} was dropped, as it is of the connection and the server's own`
  }
  return `its ${
    WORDS[grant] ?? `header ${name} was dropped`
  }: it lacks the grant, isolated = { may: ['${grant}'] }`
}

const WORDS: Readonly<Record<string, string>> = {
  session: 'session was not set',
  cookies: 'cookies were dropped',
  state: 'changes of ctx.state were dropped',
}
