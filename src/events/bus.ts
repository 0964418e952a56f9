/**
 * The event bus: one table from kind to its listeners, rebuilt when a listener comes or goes, so that
 * asking "does anybody want this?" is one property read and a kind that nobody wants costs nothing more.
 */
import type { LifecycleEvent, LifecycleEventMap, LifecycleKind, LifecycleListener } from './kinds.ts'
import { LIFECYCLE_KINDS } from './kinds.ts'

/** What a listener asked for: one kind, one namespace (`route:*`) or everything. */
export type EventPattern = LifecycleKind | `${string}:*` | '*'

interface Subscription {
  readonly pattern: EventPattern
  readonly listener: LifecycleListener
  reported: boolean
}

/** The state of a bus. `table[kind]` is undefined when no listener wants the kind, else never changed in place. */
export interface EventBus {
  readonly subscriptions: Set<Subscription>
  table: { [K in LifecycleKind]: readonly Subscription[] | undefined }
  /** Called after a listener came or went. */
  onChange: (() => void) | undefined
}

/** A bus without listeners. */
export function createBus(): EventBus {
  return { subscriptions: new Set(), table: buildTable(new Set()), onChange: undefined }
}

/** True when a listener wants `kind`: ask before building metadata on a request's path. */
export function wants(bus: EventBus, kind: LifecycleKind): boolean {
  return bus.table[kind] !== undefined
}

/**
 * Adds a listener and returns a function that removes it; calling that again does nothing. The same function added
 * twice is called twice. Throws `TypeError` for a pattern that names no event.
 */
export function subscribe(bus: EventBus, pattern: EventPattern, listener: LifecycleListener): () => void {
  if (typeof listener !== 'function') {
    throw new TypeError(`Cannot listen to "${pattern}": the listener is ${typeof listener}, want a function`)
  }
  if (!LIFECYCLE_KINDS.some((kind) => matches(pattern, kind))) {
    throw new TypeError(
      `Cannot listen to "${pattern}": no such event, want a kind such as "route:error" or "route:*"`,
    )
  }
  const subscription: Subscription = { pattern, listener, reported: false }
  bus.subscriptions.add(subscription)
  rebuild(bus)
  return () => {
    if (bus.subscriptions.delete(subscription)) rebuild(bus)
  }
}

/**
 * Calls the listeners of `kind` at once, in the order in which they came, over the list as it stood when the call
 * began: one that is added or removed by a listener counts from the next event on.
 */
export function emit<K extends LifecycleKind>(bus: EventBus, kind: K, metadata: LifecycleEventMap[K]): void {
  const subscriptions = bus.table[kind]
  if (subscriptions === undefined) return
  const event = { kind, metadata, timestamp: Date.now() } as LifecycleEvent
  for (let i = 0; i < subscriptions.length; i++) deliver(subscriptions[i]!, event)
}

function rebuild(bus: EventBus): void {
  bus.table = buildTable(bus.subscriptions)
  bus.onChange?.()
}

function deliver(subscription: Subscription, event: LifecycleEvent): void {
  try {
    const result: unknown = subscription.listener(event)
    if (result instanceof Promise) result.catch((error: unknown) => report(subscription, event.kind, error))
  } catch (error) {
    report(subscription, event.kind, error)
  }
}

function report(subscription: Subscription, kind: LifecycleKind, error: unknown): void {
  if (subscription.reported) return
  subscription.reported = true
  const name = subscription.listener.name || 'anonymous'
  console.error(`mayfly: the listener ${name} failed on ${kind}; its later failures are not shown\n`, error)
}

function matches(pattern: EventPattern, kind: LifecycleKind): boolean {
  if (pattern === '*' || pattern === kind) return true
  return pattern.endsWith(':*') && kind.startsWith(pattern.slice(0, -1))
}

function buildTable(subscriptions: ReadonlySet<Subscription>): EventBus['table'] {
  const table = {} as EventBus['table']
  for (const kind of LIFECYCLE_KINDS) {
    const wanted = [...subscriptions].filter(({ pattern }) => matches(pattern, kind))
    table[kind] = wanted.length === 0 ? undefined : wanted
  }
  return table
}
