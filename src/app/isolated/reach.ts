/** What isolated routes may ask of the host: the router's bindings and outbound hosts, of which each file names its own. */
import type { IsolatedHandler } from '../../isolate/isolation.ts'
import { nameHandler, type Program } from '../../isolate/plan/program.ts'
import { type Bindings, selectBindings, toBindings } from '../../reach/calls/bindings.ts'
import { Conversation, type Reach } from '../../reach/calls/conversation.ts'
import type { ReachNames } from '../../reach/calls/protocol.ts'
import { Outbound } from '../../reach/outbound/fetch.ts'
import { toPolicy } from '../../reach/outbound/policy.ts'
import type { IsolateRouterOptions } from '../options.ts'

/** Exchanges of one request with the host. */
const MAX_CALLS = 10_000

/** What a router gives. */
export interface RouterReach {
  readonly bindings: Bindings
  readonly outbound: Reach['outbound']
  /** Of the bindings those that a program names. */
  readonly ofProgram: WeakMap<Program, Bindings>
}

/** The router's, looked at once. Throws `TypeError` or `RangeError` for what is none. */
export function toRouterReach(isolate: IsolateRouterOptions | false | undefined): RouterReach | null {
  const { bindings = {}, outbound = null } = isolate || {}
  if (Object.keys(bindings).length === 0 && outbound === null) return null
  return {
    bindings: toBindings('make a Router', bindings),
    outbound: outbound === null || typeof outbound === 'function'
      ? outbound
      : new Outbound(toPolicy(outbound)),
    ofProgram: new WeakMap(),
  }
}

/** What programs are told of it. */
export function namesOf(reach: RouterReach | null): ReachNames | undefined {
  return reach === null ? undefined : { bindings: reach.bindings.names, fetches: reach.outbound !== null }
}

/** The host's side of a request; undefined for a handler that may ask nothing. */
export function toChannel(
  reach: RouterReach | null,
  { program: { plan }, index }: IsolatedHandler,
): Conversation | undefined {
  const { bindings, outbound } = plan.options
  if (reach === null || (bindings.length === 0 && !outbound)) return undefined
  return new Conversation({
    program: nameHandler(plan, index),
    bindings: bindingsOf(reach, plan),
    outbound: outbound ? reach.outbound : null,
    calls: MAX_CALLS,
  })
}

function bindingsOf({ bindings, ofProgram }: RouterReach, plan: Program): Bindings {
  const known = ofProgram.get(plan)
  if (known !== undefined) return known
  const made = selectBindings(bindings, plan.options.bindings)
  ofProgram.set(plan, made)
  return made
}
