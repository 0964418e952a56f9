import { type Cases, caught } from './case.ts'

export const EVENTS: Cases = {
  'Event: attributes': ({ Event }) => {
    const event = new Event('x', { bubbles: true, cancelable: 1 as unknown as boolean })
    return [
      event.type,
      event.bubbles,
      event.cancelable,
      event.composed,
      event.target,
      event.eventPhase,
      event.defaultPrevented,
      typeof event.timeStamp,
      event.isTrusted,
      Event.AT_TARGET,
    ]
  },
  'Event: preventDefault': ({ Event, EventTarget }) =>
    [true, false].map((cancelable) => {
      const target = new EventTarget()
      target.addEventListener('x', (event) => event.preventDefault())
      const event = new Event('x', { cancelable })
      return [target.dispatchEvent(event), event.defaultPrevented, event.returnValue]
    }),
  'Event: a passive listener prevents nothing': ({ Event, EventTarget }) => {
    const target = new EventTarget()
    target.addEventListener('x', (event) => event.preventDefault(), { passive: true })
    return target.dispatchEvent(new Event('x', { cancelable: true }))
  },
  'Event: conversions': (
    web,
  ) => [
    new web.Event(1 as unknown as string).type,
    caught(web, () => new (web.Event as unknown as new () => Event)()),
    caught(web, () => new web.Event('a', 1 as unknown as EventInit).bubbles),
  ],
  'CustomEvent': ({ CustomEvent, Event }) => {
    const event = new CustomEvent('x', { detail: { a: 1 } })
    return [
      event.detail,
      new CustomEvent('y').detail,
      event instanceof Event,
      Object.prototype.toString.call(event),
    ]
  },
  'EventTarget: order, once, duplicates, removal': ({ Event, EventTarget }) => {
    const target = new EventTarget()
    const log: string[] = []
    const twice = () => log.push('twice')
    const gone = () => log.push('gone')
    target.addEventListener('x', () => log.push('first'), { once: true })
    target.addEventListener('x', twice)
    target.addEventListener('x', twice)
    target.addEventListener('x', gone)
    target.addEventListener('x', gone, { capture: true })
    target.removeEventListener('x', gone)
    target.removeEventListener('x', gone, true)
    target.addEventListener('x', null)
    target.dispatchEvent(new Event('x'))
    target.dispatchEvent(new Event('x'))
    return log
  },
  'EventTarget: what an event shows while it is dispatched': ({ Event, EventTarget }) => {
    const target = new EventTarget()
    const seen: unknown[] = []
    target.addEventListener('x', function (this: unknown, event) {
      seen.push(
        this === target,
        event.target === target,
        event.currentTarget === target,
        event.eventPhase,
        event.composedPath().length,
      )
    })
    const event = new Event('x')
    target.dispatchEvent(event)
    return [seen, event.target === target, event.currentTarget, event.eventPhase, event.composedPath().length]
  },
  'EventTarget: handleEvent and its this': ({ Event, EventTarget }) => {
    const target = new EventTarget()
    const seen: unknown[] = []
    const listener = {
      handleEvent(this: unknown, event: Event) {
        seen.push(this === listener, event.type)
      },
    }
    target.addEventListener('x', listener)
    target.dispatchEvent(new Event('x'))
    return seen
  },
  'EventTarget: stopImmediatePropagation': ({ Event, EventTarget }) => {
    const target = new EventTarget()
    const log: number[] = []
    target.addEventListener('x', (event) => {
      log.push(1)
      event.stopImmediatePropagation()
    })
    target.addEventListener('x', () => log.push(2))
    target.dispatchEvent(new Event('x'))
    return log
  },
  'EventTarget: listeners added and removed while it is dispatched': ({ Event, EventTarget }) => {
    const target = new EventTarget()
    const log: string[] = []
    const late = () => log.push('late')
    const removed = () => log.push('removed')
    target.addEventListener('x', () => {
      log.push('first')
      target.addEventListener('x', late)
      target.removeEventListener('x', removed)
    })
    target.addEventListener('x', removed)
    target.dispatchEvent(new Event('x'))
    return log
  },
  'EventTarget: an event that is being dispatched': (web) => {
    const target = new web.EventTarget()
    const results: unknown[] = []
    target.addEventListener('x', (event) => results.push(caught(web, () => target.dispatchEvent(event))))
    target.dispatchEvent(new web.Event('x'))
    return [results, caught(web, () => target.dispatchEvent({} as Event))]
  },
  'EventTarget: a listener with a signal': ({ Event, EventTarget, AbortController }) => {
    const target = new EventTarget()
    const controller = new AbortController()
    const log: number[] = []
    target.addEventListener('x', () => log.push(1), { signal: controller.signal })
    target.dispatchEvent(new Event('x'))
    controller.abort()
    target.dispatchEvent(new Event('x'))
    target.addEventListener('x', () => log.push(2), { signal: controller.signal })
    target.dispatchEvent(new Event('x'))
    return log
  },
  'EventTarget: a class of the application': ({ Event, EventTarget }) => {
    class Own extends EventTarget {
      n = 1
    }
    const own = new Own()
    let heard = 0
    own.addEventListener('x', () => heard++)
    own.dispatchEvent(new Event('x'))
    return [heard, own.n, Object.prototype.toString.call(own)]
  },
  'AbortController: abort': ({ AbortController, DOMException }) => {
    const controller = new AbortController()
    const { signal } = controller
    const log: unknown[] = []
    signal.onabort = (event) => log.push(event.type)
    signal.addEventListener('abort', () => log.push(signal.aborted))
    const before = [signal.aborted, signal.reason]
    controller.abort()
    controller.abort('again')
    return [before, log, signal.aborted, signal.reason.name, signal.reason instanceof DOMException]
  },
  'AbortController: reasons': (web) =>
    [0, null, 'x', undefined].map((reason) => {
      const controller = new web.AbortController()
      controller.abort(reason)
      return [
        controller.signal.reason instanceof web.DOMException ? 'DOMException' : controller.signal.reason,
      ]
    }),
  'AbortSignal: throwIfAborted': (web) => [
    caught(web, () => web.AbortSignal.abort().throwIfAborted()),
    caught(web, () => web.AbortSignal.abort(new RangeError('x')).throwIfAborted()),
    caught(web, () => new web.AbortController().signal.throwIfAborted()),
  ],
  'AbortSignal: no constructor': (web) => caught(web, () => new web.AbortSignal()),
  'AbortSignal.any': ({ AbortController, AbortSignal }) => {
    const [one, two] = [new AbortController(), new AbortController()]
    const any = AbortSignal.any([one.signal, two.signal])
    const nested = AbortSignal.any([any, new AbortController().signal])
    const log: unknown[] = []
    nested.addEventListener('abort', () => log.push(any.aborted, nested.reason))
    const before = any.aborted
    two.abort('two')
    one.abort('one')
    return [
      before,
      any.aborted,
      any.reason,
      log,
      AbortSignal.any([]).aborted,
      AbortSignal.any([AbortSignal.abort(1), AbortSignal.abort(2)]).reason,
    ]
  },
  'AbortSignal.any: of what is no signal': (
    web,
  ) => [
    caught(web, () => web.AbortSignal.any([{} as AbortSignal])),
    caught(web, () => web.AbortSignal.any(1 as unknown as AbortSignal[])),
  ],
  'AbortSignal.timeout': async (web) => {
    const signal = web.AbortSignal.timeout(1)
    const before = signal.aborted
    const keep = web.setTimeout(() => {}, 10_000)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    web.clearTimeout(keep)
    return [before, signal.aborted, signal.reason.name, signal.reason instanceof web.DOMException]
  },
  'AbortSignal.timeout: wrong times': (web) =>
    [-1, NaN, Infinity].map((ms) => caught(web, () => web.AbortSignal.timeout(ms).aborted)),
  'DOMException: attributes': ({ DOMException }) => {
    const error = new DOMException('text', 'AbortError')
    return [
      error.name,
      error.message,
      error.code,
      error instanceof Error,
      String(error),
      Object.prototype.toString.call(error),
      DOMException.ABORT_ERR,
      new DOMException().name,
      new DOMException('a', 'Own').code,
      typeof error.stack,
    ]
  },
  'DOMException: conversions': (
    { DOMException },
  ) => [
    new DOMException(undefined, undefined).message,
    new DOMException(1 as unknown as string, null as unknown as string).name,
  ],
}
