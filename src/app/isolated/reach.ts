/** What isolated routes may ask of the host: the router's bindings and outbound hosts, of which each file names its own. */
import type { IsolatedHandler } from '../../isolate/isolation.ts'
import { nameHandler, type Program } from '../../isolate/plan/program.ts'
import { type Bindings, selectBindings, toBindings } from '../../reach/calls/bindings.ts'
import { Conversation, type Reach } from '../../reach/calls/conversation.ts'
import type { ReachNames, Sample } from '../../reach/calls/protocol.ts'
import { encodeValue } from '../../values/encode.ts'
import { Outbound } from '../../reach/outbound/fetch.ts'
import { toPolicy } from '../../reach/outbound/policy.ts'
import type { IsolateRouterOptions } from '../options.ts'

/** Exchanges of one request with the host. */
const MAX_CALLS = 10_000

/** What a router gives. */
export interface RouterReach {
  readonly bindings: Bindings
  readonly outbound: Reach['outbound']
  /** What programs hear in a warm-up. */
  readonly samples: readonly Sample[]
  /** Of the bindings those that a program names. */
  readonly ofProgram: WeakMap<Program, Bindings>
}

/** The router's, looked at once. Throws `TypeError` or `RangeError` for what is none. */
export function toRouterReach(isolate: IsolateRouterOptions | false | undefined): RouterReach | null {
  const { bindings = {}, outbound = null, warmupAnswers = {} } = isolate || {}
  if (Object.keys(bindings).length === 0 && outbound === null) return null
  const given = toBindings('make a Router', bindings)
  return {
    bindings: given,
    samples: toSamples(given, warmupAnswers),
    outbound: outbound === null || typeof outbound === 'function'
      ? outbound
      : new Outbound(toPolicy(outbound)),
    ofProgram: new WeakMap(),
  }
}

/** What programs are told of it. */
export function namesOf(reach: RouterReach | null): ReachNames | undefined {
  if (reach === null) return undefined
  const { bindings: { names }, outbound, samples } = reach
  return { bindings: names, fetches: outbound !== null, samples }
}

/** Values by the names of calls. Throws `TypeError` for what no call could give. */
function toSamples({ names }: Bindings, answers: Readonly<Record<string, unknown>>): readonly Sample[] {
  const known = new Map(names)
  return Object.entries(answers).flatMap(([name, value]): Sample[] => {
    const members = known.get(name)
    if (members === undefined) throw refuse(name, `want a name of bindings: ${[...known.keys()].join(', ')}`)
    if (members === null) return [[name, null, toSample(name, value)]]
    if (typeof value !== 'object' || value === null) {
      throw refuse(name, 'want an object of values by the names of its functions')
    }
    return Object.entries(value).map(([member, value]): Sample => {
      if (members !== '*' && !members.includes(member)) {
        throw refuse(`${name}.${member}`, `want a name of its functions: ${members.join(', ')}`)
      }
      return [name, member, toSample(`${name}.${member}`, value)]
    })
  })
}

function toSample(name: string, value: unknown): string {
  const { text, raw } = encodeValue(value, { stacks: false })
  if (raw.length > 0) throw refuse(name, 'want a value without buffers')
  return text
}

function refuse(name: string, wanted: string): TypeError {
  return new TypeError(`Cannot make a Router: isolate.warmupAnswers has '${name}', ${wanted}`)
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
