/**
 * One request to one host. The name is resolved where the connection is made, every address is checked there, and the connection goes to
 * one of those: nothing is looked up between the check and the use. Deno's own `fetch` cannot be told an address (`proxy: { transport:
 * 'tcp' }` can, and speaks no TLS), so undici asks, whose connections take a `lookup`; TLS checks the certificate against the name.
 */
import type { Agent, Dispatcher } from 'undici'
import { isAddress, isReachable, loadAddressKinds, type Range } from './addresses.ts'
import { formatAddress } from '../../addresses/address.ts'
import { hostOf, namedAddresses, type Policy } from './policy.ts'

/** Gives the addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>

/** How a client differs from the usual one, for tests. */
export interface ClientOptions {
  /** Default: the system's. */
  readonly resolve?: Resolve
  /** Certificates of authorities beside the usual ones, as PEM. */
  readonly ca?: string
}

/** What is asked of one host. */
export interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: AsyncIterable<Uint8Array> | Uint8Array | null
  readonly signal: AbortSignal
}

/** What it answered. */
export interface HopAnswer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Dispatcher.ResponseData['body']
}

/** A host was refused for its address. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
}

/** Connections to all hosts of a policy. */
export class Client implements AsyncDisposable {
  readonly #policy: Policy
  readonly #resolve: Resolve
  readonly #ca: string | undefined
  /** By the ranges that are allowed beside public ones: connections of one are not for the other. */
  readonly #agents = new Map<string, Agent>()

  constructor(policy: Policy, { resolve = resolveBySystem, ca }: ClientOptions = {}) {
    this.#policy = policy
    this.#resolve = resolve
    this.#ca = ca
  }

  /** Asks. Rejects with `AddressError`, or with what undici has for a connection that failed. */
  async ask({ url, method, headers, body, signal }: Hop): Promise<HopAnswer> {
    const named = namedAddresses(this.#policy, url)
    const host = hostOf(url)
    // Addresses are connected to without a lookup.
    if (isAddress(host) && !isReachable(await loadAddressKinds(), host, named)) {
      throw new AddressError('no address of the public internet')
    }
    // With the first request: to load undici takes as long as to load all of Mayfly.
    const undici = await import('undici')
    const { statusCode, headers: received, body: content } = await this.#agent(undici, named).request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: method as Dispatcher.HttpMethod,
      headers: headers.flat(),
      // deno-lint-ignore no-explicit-any -- undici takes iterables, and its types do not say so
      body: body as any,
      signal,
    })
    // Whoever ends it early needs no error for that.
    content.on('error', () => {})
    return { status: statusCode, headers: toPairs(received), body: content }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const agents = [...this.#agents.values()]
    this.#agents.clear()
    await Promise.all(agents.map((agent) => agent.destroy()))
  }

  #agent(undici: typeof import('undici'), named: readonly Range[]): Agent {
    const key = named.map(([address, bits]) => `${formatAddress(address)}/${bits}`).join()
    const known = this.#agents.get(key)
    if (known !== undefined) return known
    const { idleMs } = this.#policy.bounds
    const agent = new undici.Agent({
      connections: 32,
      keepAliveTimeout: 10_000,
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
      allowH2: true,
      connect: {
        timeout: idleMs,
        ...(this.#ca === undefined ? {} : { ca: this.#ca }),
        lookup: (host, _options, done) => {
          this.#find(host, named).then(
            (addresses) => done(null, addresses as never),
            (error) => done(error, []),
          )
        },
      },
    })
    this.#agents.set(key, agent)
    return agent
  }

  /** All addresses of a name. One that may not be reached refuses all: such a name is not to be trusted with the others. */
  async #find(host: string, named: readonly Range[]): Promise<{ address: string; family: number }[]> {
    const addresses = await this.#resolve(host.replace(/\.$/, ''))
    if (addresses.length === 0) throw new AddressError('no address')
    const kinds = await loadAddressKinds()
    if (!addresses.every((address) => isReachable(kinds, address, named))) {
      throw new AddressError('no address of the public internet')
    }
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
}

async function resolveBySystem(host: string): Promise<readonly string[]> {
  const { lookup } = await import('node:dns/promises')
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address)
}

function toPairs(headers: Record<string, string | string[] | undefined>): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((text): [string, string] => [name, text])
  )
}
