/** Bindings as a program has them: functions and objects of functions, each of which asks the host by its name. */
import type { BindingNames } from '../calls/protocol.ts'
import type { Exchanges } from './exchanges.ts'
import { fetchBy } from './fetch.ts'

/** Objects of the bindings, by their names. */
export function toEnv(names: BindingNames, exchanges: Exchanges): Record<string, unknown> {
  return Object.fromEntries(names.map(([name, members]) => [name, toBinding(name, members, exchanges)]))
}

function toBinding(name: string, members: BindingNames[number][1], exchanges: Exchanges): unknown {
  const toCall = (member: string | null) => (...args: unknown[]) => exchanges.call(name, member, args)
  if (members === null) return toCall(null)
  if (members !== '*') return Object.fromEntries(members.map((member) => [member, toCall(member)]))
  const known = new Map<string, unknown>([['fetch', fetchBy(exchanges, name)]])
  return new Proxy({}, {
    get(_, member) {
      // Who awaits the object, or shows it, asks for these.
      if (
        typeof member !== 'string' || member === 'then' || member === 'toJSON' || member === 'constructor'
      ) return undefined
      if (!known.has(member)) known.set(member, toCall(member))
      return known.get(member)
    },
  })
}
