/** What the host gives a program to call: functions, objects of functions, and other programs. */
import type { Awaitable } from '../../context/types.ts'
import { type BindingNames, MAX_ARGUMENTS } from './protocol.ts'

/** The member by which an object answers calls of any name by itself. */
export const BINDING: unique symbol = Symbol.for('mayfly.binding')

/** What answers calls of any name: another program. */
export interface AnyBinding {
  call(member: string, args: readonly unknown[]): Awaitable<unknown>
  fetch(request: Request): Awaitable<Response>
}

type Callable = (...args: unknown[]) => unknown

/** Bindings by their names; made once, so that what is added to the objects later is not there. */
export interface Bindings {
  readonly names: BindingNames
  readonly byName: ReadonlyMap<string, Binding>
}

type Binding =
  | { readonly kind: 'function'; readonly call: Callable }
  | { readonly kind: 'object'; readonly owner: object; readonly members: ReadonlyMap<string, Callable> }
  | { readonly kind: 'any'; readonly any: AnyBinding }

/** A call that is none: nothing of the host ran. */
export class CallError extends TypeError {
  override readonly name = 'TypeError'
}

const NAME = /^[A-Za-z_$][\w$]{0,127}$/
const MAX_BINDINGS = 256
const MAX_MEMBERS = 256
/** Names that mean something to every object, or to `await`. */
const RESERVED = new Set(['__proto__', 'constructor', 'prototype', 'then', 'toJSON'])

/** Whether a value is a binding, and not data. */
export function isBinding(value: unknown): boolean {
  if (typeof value === 'function') return true
  if (typeof value !== 'object' || value === null) return false
  return BINDING in value || Object.values(value).some((member) => typeof member === 'function')
}

/** Looks at bindings. Throws `TypeError` that names what is none. */
export function toBindings(attempt: string, given: Readonly<Record<string, unknown>>): Bindings {
  const entries = Object.entries(given)
  if (entries.length > MAX_BINDINGS) {
    throw new RangeError(`Cannot ${attempt}: ${entries.length} bindings, want at most ${MAX_BINDINGS}`)
  }
  const byName = new Map(
    entries.map(([name, value]) => [checkName(attempt, 'binding', name), toBinding(attempt, name, value)]),
  )
  const names = [...byName].map(([name, binding]) => [name, namesOf(binding)] as const)
  return { names, byName }
}

/** Those of these names. */
export function selectBindings({ names, byName }: Bindings, wanted: readonly string[]): Bindings {
  const isWanted = (name: string) => wanted.includes(name)
  return {
    names: names.filter(([name]) => isWanted(name)),
    byName: new Map([...byName].filter(([name]) => isWanted(name))),
  }
}

/** What the words of a call name. Throws `CallError` for what are no names. */
export function toCallee([name, member]: readonly unknown[]): readonly [name: string, member: string | null] {
  if (typeof name === 'string' && (typeof member === 'string' || member === null)) return [name, member]
  throw new CallError('Cannot call the host: the name is none')
}

/** Calls a binding. Throws `CallError` for a name that is none, and rejects with what the function throws. */
export async function callBinding(
  { byName }: Bindings,
  name: string,
  member: string | null,
  args: readonly unknown[],
): Promise<unknown> {
  if (args.length > MAX_ARGUMENTS) {
    throw new CallError(
      `Cannot call ${shown(name, member)}: ${args.length} arguments, want at most ${MAX_ARGUMENTS}`,
    )
  }
  const binding = byName.get(name)
  if (binding?.kind === 'function' && member === null) return await binding.call(...args)
  if (binding?.kind === 'object' && member !== null) {
    const call = binding.members.get(member)
    if (call !== undefined) return await Reflect.apply(call, binding.owner, args)
  }
  if (binding?.kind === 'any' && member !== null && isName(member)) {
    return await binding.any.call(member, args)
  }
  throw new CallError(`Cannot call ${shown(name, member)}: there is no such function`)
}

/** What answers requests to a binding. Throws `CallError` for one that does not. */
export function fetcherOf({ byName }: Bindings, name: string): AnyBinding['fetch'] {
  const binding = byName.get(name)
  if (binding?.kind === 'any') return (request) => binding.any.fetch(request)
  throw new CallError(`Cannot fetch from ${shown(name, null)}: it is no program`)
}

function toBinding(attempt: string, name: string, value: unknown): Binding {
  if (typeof value === 'function') return { kind: 'function', call: value as Callable }
  if (typeof value === 'object' && value !== null) {
    if (BINDING in value) return { kind: 'any', any: value[BINDING] as AnyBinding }
    const entries = Object.entries(value)
    const other = entries.find(([, member]) => typeof member !== 'function')
    if (other === undefined && entries.length > 0 && entries.length <= MAX_MEMBERS) {
      const members = entries.map(([key, member]) =>
        [checkName(attempt, `function of ${name}`, key), member as Callable] as const
      )
      return { kind: 'object', owner: value, members: new Map(members) }
    }
    if (other !== undefined) {
      throw new TypeError(
        `Cannot ${attempt}: ${name} has functions, and ${
          other[0]
        } is ${typeof other[1]}, want functions alone`,
      )
    }
  }
  throw new TypeError(
    `Cannot ${attempt}: the binding ${name} is ${
      Deno.inspect(value, { depth: 0 })
    }, want a function, or an object with 1 to ${MAX_MEMBERS} functions of its own`,
  )
}

function namesOf(binding: Binding): readonly string[] | null | '*' {
  if (binding.kind === 'object') return [...binding.members.keys()]
  return binding.kind === 'any' ? '*' : null
}

function checkName(attempt: string, what: string, name: string): string {
  if (isName(name)) return name
  throw new TypeError(
    `Cannot ${attempt}: a ${what} is called ${
      Deno.inspect(name.slice(0, 80))
    }, want a name as variables have`,
  )
}

function isName(name: string): boolean {
  return NAME.test(name) && !RESERVED.has(name)
}

/** A name may be anything. */
function shown(name: string, member: string | null): string {
  return JSON.stringify(`${name.slice(0, 128)}${member === null ? '' : `.${member.slice(0, 128)}`}`)
}
