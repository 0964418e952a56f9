/** The tenants of `deno task bench --tenants`: quiet ones, busy ones, and those that do harm. */
import type { FoundTenant, TenantFinder } from '@mayfly/mayfly'

/** Tenants that answer, by their numbers; the first of them are busy. */
export const TENANTS = 2000
export const BUSY = 50
/** The neighbour, one that nobody else asks. */
export const NEIGHBOUR = BUSY

/** The domain of all. */
const DOMAIN = 'tenants.test'

/** A tenant that does harm. */
export interface Harm {
  readonly name: string
  readonly title: string
  /** Connections of its attacker, each with one request under way. */
  readonly connections: number
}

/** Each has an attacker; the first does no harm, and shows what sharing the cores costs. */
export const HARMS: readonly Harm[] = [
  { name: 'busy', title: 'a busy tenant', connections: 2 },
  { name: 'spins', title: 'one that spins', connections: 2 },
  { name: 'hogs', title: 'one that hogs memory', connections: 2 },
  { name: 'floods', title: 'one that floods', connections: 64 },
  { name: 'swaps', title: 'one that swaps itself twice a second', connections: 1 },
]

/** Milliseconds for which a version of the one that swaps itself stays. */
const VERSION_MS = 500
/** Longest request of one that does harm, and of the others: a host that is busy must not end a measurement. */
const HARM_MS = 500
const SLOW_MS = 20_000
/** Of the one with 64 connections. */
const FLOOD = { concurrency: 2, waiting: 16, requestsPerSecond: 200 }

/** The host of a tenant, by its number or the name of its harm. */
export function hostOf(who: number | string): string {
  return `${typeof who === 'number' ? `t${who}` : who}.${DOMAIN}`
}

/** What a tenant answers a path with. All numbers' answers are equally long, so that a connection may ask for any of them. */
export function answerOf(who: number, path: string): string {
  return JSON.stringify({ tenant: String(who).padStart(4, '0'), path })
}

/** Names the tenant of a request by its host. */
export const find: TenantFinder = (request) => {
  const { host } = new URL(request.url)
  const name = host.slice(0, -DOMAIN.length - 1)
  if (host !== `${name}.${DOMAIN}`) return null
  const found = (text: string, more: Partial<FoundTenant> = {}): FoundTenant => ({
    name,
    version: '1',
    code: () => ({ mainModule: 'main.js', modules: { 'main.js': text } }),
    limits: { timeoutMs: HARMS.some((harm) => harm.name === name) ? HARM_MS : SLOW_MS },
    ...more,
  })
  switch (name) {
    case 'spins':
      return found('export default { fetch() { for (;;); } }')
    case 'hogs':
      return found(
        'export default { fetch() { const all = []; for (;;) all.push(new Uint8Array(1 << 25).fill(1)) } }',
      )
    case 'floods':
      return found(toText('flood'), FLOOD)
    case 'swaps':
      return found(toText('swap'), { version: `${Math.floor(Date.now() / VERSION_MS)}` })
    case 'busy':
      return found(toText('busy'))
    default:
      return /^t\d{1,4}$/.test(name) ? found(toText(name.slice(1).padStart(4, '0'))) : null
  }
}

/** A program that says whose it is. */
function toText(tenant: string): string {
  return `const tenant = ${JSON.stringify(tenant)}
export default {
  fetch(request) {
    return Response.json({ tenant, path: new URL(request.url).pathname })
  },
}
`
}
