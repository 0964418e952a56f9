import { type Cases, caught } from './case.ts'

export const TIMERS: Cases = {
  'setTimeout: order, arguments': (web) =>
    new Promise((resolve) => {
      const log: unknown[] = []
      web.setTimeout((...args: unknown[]) => log.push(args), 5, 'late', 1)
      web.setTimeout(() => log.push('soon'), 0)
      web.setTimeout(() => log.push('negative'), -5)
      web.setTimeout(() => log.push('text'), '1' as unknown as number)
      web.setTimeout(() => resolve(log.map(String).toSorted()), 20)
      log.push('now')
    }),
  'setTimeout: cleared': (web) =>
    new Promise((resolve) => {
      const log: unknown[] = []
      web.clearTimeout(web.setTimeout(() => log.push('never'), 1))
      web.clearTimeout(undefined)
      web.clearTimeout(99_999)
      web.setTimeout(() => resolve(log), 5)
    }),
  // Both are due where a busy machine takes longer from one to the other.
  'setTimeout: zero goes before two hundred': (web) =>
    new Promise((resolve) => {
      const log: unknown[] = []
      web.setTimeout(() => {
        log.push(200)
        resolve(log)
      }, 200)
      web.setTimeout(() => log.push(0), 0)
    }),
  'setInterval: until it is cleared': (web) =>
    new Promise((resolve) => {
      let count = 0
      const timer = web.setInterval(
        (word: string) => {
          if (++count < 3) return
          web.clearInterval(timer)
          web.setTimeout(() => resolve([count, word]), 5)
        },
        1,
        'tick',
      )
    }),
  'queueMicrotask: before timers, in turn': (web) =>
    new Promise((resolve) => {
      const log: unknown[] = []
      web.setTimeout(() => {
        log.push('timer')
        resolve(log)
      }, 0)
      Promise.resolve().then(() => log.push('promise'))
      web.queueMicrotask(() => log.push('microtask'))
      log.push('now')
    }),
  'queueMicrotask: wants a function': (
    web,
  ) => [
    caught(web, () => web.queueMicrotask(1 as unknown as () => void)),
    caught(web, () => (web.queueMicrotask as unknown as () => void)()),
  ],
  'performance: now grows, from its origin': ({ performance }) => {
    const first = performance.now()
    const second = performance.now()
    return [first >= 0, second >= first, performance.timeOrigin > 0, typeof performance.timeOrigin]
  },
  'performance: marks and measures': ({ performance }) => {
    const mark = performance.mark('m', { startTime: 5, detail: { a: 1 } })
    performance.mark('n', { startTime: 9 })
    const measure = performance.measure('both', 'm', 'n')
    const names = performance.getEntriesByName('m').map((entry) => entry.entryType)
    performance.clearMarks('m')
    const left = performance.getEntriesByType('mark').map((entry) => entry.name)
    performance.clearMarks()
    performance.clearMeasures()
    return [
      mark.name,
      mark.startTime,
      mark.duration,
      mark.detail,
      measure.startTime,
      measure.duration,
      names,
      left,
      performance.getEntriesByType('measure').length,
    ]
  },
  'performance: a mark that is missing': (web) => caught(web, () => web.performance.measure('x', 'nobody')),
  'crypto: getRandomValues fills in place': ({ crypto }) => {
    const bytes = new Uint8Array(64)
    const words = new Uint32Array(4)
    return [
      crypto.getRandomValues(bytes) === bytes,
      bytes.some((byte) => byte !== 0),
      crypto.getRandomValues(words) === words,
      crypto.getRandomValues(new BigInt64Array(1)).length,
    ]
  },
  'crypto: getRandomValues refuses': (web) => [
    caught(web, () => web.crypto.getRandomValues(new Float32Array(1) as unknown as Uint8Array<ArrayBuffer>)),
    caught(web, () => web.crypto.getRandomValues([] as unknown as Uint8Array<ArrayBuffer>)),
    caught(web, () => web.crypto.getRandomValues(new Uint8Array(65_537))) === 'QuotaExceededError (DOM)',
  ],
  'crypto: randomUUID': ({ crypto }) => {
    const [one, two] = [crypto.randomUUID(), crypto.randomUUID()]
    return [/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(one), one !== two]
  },
  'crypto.subtle: digests': ({ crypto, TextEncoder }) =>
    Promise.all(
      ['SHA-1', 'sha-256', { name: 'SHA-384' }, 'SHA-512'].map((name) =>
        crypto.subtle.digest(name, new TextEncoder().encode('abc'))
      ),
    ),
  'crypto.subtle: digest of views': ({ crypto }) => {
    const bytes = new Uint8Array([1, 2, 3, 4])
    return Promise.all(
      [bytes.buffer, bytes.subarray(1, 3), new DataView(bytes.buffer, 2)].map((data) =>
        crypto.subtle.digest('SHA-1', data)
      ),
    )
  },
  'crypto.subtle: digest refuses': async (web) => [
    await caught(web, () => web.crypto.subtle.digest('MD5', new Uint8Array(1))),
    await caught(web, () => web.crypto.subtle.digest('SHA-1', 'text' as unknown as Uint8Array<ArrayBuffer>)),
    await caught(web, () => web.crypto.subtle.digest({} as Algorithm, new Uint8Array(1))),
  ],
  'crypto: the look of the interface': (web) => [
    Object.prototype.toString.call(web.crypto),
    Object.prototype.toString.call(web.crypto.subtle),
    caught(web, () => new web.Crypto()),
    web.crypto instanceof web.Crypto,
  ],
  'globals: how they are defined': (web) =>
    ['Request', 'Headers', 'URL', 'AbortSignal', 'DOMException'].map((name) => {
      const described = Object.getOwnPropertyDescriptor(web, name)
      return [
        described === undefined ? true : !described.enumerable || described.writable,
        typeof (web as unknown as Record<string, unknown>)[name],
      ]
    }),
}
