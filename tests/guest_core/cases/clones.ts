import { type Cases, caught } from './case.ts'

export const CLONES: Cases = {
  'Atomics: notify where nobody waits': (web) => {
    const cells = new Int32Array(new SharedArrayBuffer(8))
    return [
      Atomics.add(cells, 0, 5),
      Atomics.notify(cells, 0),
      Atomics.notify(cells, 1, 3),
      Atomics.notify(new BigInt64Array(1), 0),
      Atomics.wait(cells, 0, 0, 5),
      caught(web, () => Atomics.notify(cells, 2)),
      caught(web, () => Atomics.notify(new Uint8Array(8) as never, 0)),
    ]
  },
  'structuredClone: simple values': ({ structuredClone }) =>
    [undefined, null, true, 1.5, NaN, -0, 'é', 10n].map((value) => structuredClone(value)),
  'structuredClone: objects and arrays': ({ structuredClone }) => {
    const value = { a: [1, { b: 2 }], c: undefined, d: [, 1], [Symbol('s')]: 3 }
    const copy = structuredClone(value)
    return [
      copy,
      copy !== value,
      copy.a !== value.a,
      0 in copy.d,
      copy.d.length,
      Object.getOwnPropertySymbols(copy).length,
      'c' in copy,
    ]
  },
  'structuredClone: cycles and shared parts': ({ structuredClone }) => {
    const value: Record<string, unknown> = { shared: {} }
    value.self = value
    value.again = value.shared
    const copy = structuredClone(value)
    return [copy.self === copy, copy.shared === copy.again, copy !== value]
  },
  'structuredClone: Map and Set': ({ structuredClone }) => {
    const map = new Map<unknown, unknown>([['a', { b: 1 }], [{ k: 1 }, new Set([1, 'x'])]])
    map.set('self', map)
    const copy = structuredClone(map)
    return [copy.get('self') === copy, copy.size, copy.get('a'), [...copy.values()][1]]
  },
  'structuredClone: Date and RegExp': ({ structuredClone }) => {
    const pattern = /a(b)/giu
    pattern.lastIndex = 3
    const copy = structuredClone(pattern)
    return [
      structuredClone(new Date(5)).getTime(),
      String(structuredClone(new Date(NaN))),
      copy.source,
      copy.flags,
      copy.lastIndex,
    ]
  },
  'structuredClone: boxed values': ({ structuredClone }) =>
    [Object(1), Object('x'), Object(true), Object(2n)].map((
      value,
    ) => [typeof structuredClone(value), structuredClone(value).valueOf()]),
  'structuredClone: errors': ({ structuredClone }) =>
    [
      new Error('a'),
      new TypeError('b'),
      new RangeError('c', { cause: { d: 1 } }),
      Object.assign(new Error('e'), { name: 'Own', extra: 1 }),
      new AggregateError([], 'f'),
    ].map((error) => {
      const copy = structuredClone(error)
      return [
        copy.name,
        copy.message,
        copy instanceof Error,
        copy.constructor.name,
        copy.cause,
        Object.keys(copy),
        typeof copy.stack,
      ]
    }),
  'structuredClone: an error of a class of the application': ({ structuredClone }) => {
    class Own extends TypeError {
      field = 1
    }
    const copy = structuredClone(new Own('x'))
    return [copy.constructor.name, copy instanceof Own, 'field' in copy, copy.message]
  },
  'structuredClone: a DOMException': ({ structuredClone, DOMException }) => {
    const copy = structuredClone(new DOMException('x', 'AbortError'))
    return [copy instanceof DOMException, copy.name, copy.message, copy.code]
  },
  'structuredClone: buffers and views': ({ structuredClone }) => {
    const { buffer } = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8])
    const value = {
      buffer,
      part: new Uint8Array(buffer, 2, 3),
      words: new Uint16Array(buffer, 4, 2),
      view: new DataView(buffer, 1, 2),
    }
    const copy = structuredClone(value)
    return [
      copy.buffer,
      copy.part,
      copy.part.buffer === copy.buffer,
      copy.part.byteOffset,
      [...copy.words],
      copy.view.byteLength,
      copy.view.getUint8(0),
      copy.buffer !== buffer,
    ]
  },
  'structuredClone: every kind of array': ({ structuredClone }) =>
    [
      Int8Array,
      Uint8Array,
      Uint8ClampedArray,
      Int16Array,
      Uint16Array,
      Int32Array,
      Uint32Array,
      Float32Array,
      Float64Array,
      BigInt64Array,
      BigUint64Array,
    ].map((type) => {
      const copy = structuredClone(new type(2) as Uint8Array)
      return [Object.prototype.toString.call(copy), copy.length]
    }),
  'structuredClone: transfer': (web) => {
    const bytes = new Uint8Array([1, 2, 3])
    const copy = web.structuredClone({ bytes }, { transfer: [bytes.buffer] })
    return [
      copy.bytes,
      bytes.byteLength,
      bytes.buffer.byteLength,
      caught(web, () => web.structuredClone(bytes.buffer)),
      caught(web, () => web.structuredClone(1, { transfer: [bytes.buffer] })),
    ]
  },
  'structuredClone: transfer refuses what cannot move': (web) =>
    caught(web, () => web.structuredClone(1, { transfer: [{}] as unknown as Transferable[] })),
  'structuredClone: what cannot be cloned': (web) =>
    [() => 1, Symbol('x'), new WeakMap(), new WeakSet(), Promise.resolve(), { f() {} }, [Symbol('y')]].map((
      value,
    ) => caught(web, () => web.structuredClone(value))),
  'structuredClone: classes lose their kind': ({ structuredClone }) => {
    class Point {
      x = 1
      get y() {
        return 2
      }
    }
    const copy = structuredClone(new Point())
    return [copy, copy.constructor === Object, copy instanceof Point]
  },
  'structuredClone: getters run, hidden members stay behind': (web) => {
    const value = Object.defineProperty(
      {
        get a() {
          return 1
        },
      },
      'hidden',
      { value: 2 },
    )
    return [
      web.structuredClone(value),
      caught(web, () =>
        web.structuredClone({
          get b() {
            throw new RangeError('x')
          },
        })),
    ]
  },
  'structuredClone: objects without a prototype, and __proto__': ({ structuredClone }) => {
    const value = Object.create(null)
    value.a = 1
    Object.defineProperty(value, '__proto__', { value: 5, enumerable: true })
    const copy = structuredClone(value)
    return [Object.getPrototypeOf(copy) === Object.prototype, Object.keys(copy), copy.a]
  },
  'structuredClone: an array with members': ({ structuredClone }) => {
    const copy = structuredClone(Object.assign([1, 2], { extra: 'x' }))
    return [copy, copy.extra, Array.isArray(copy)]
  },
  'structuredClone: arguments': (
    web,
  ) => [
    caught(web, () => (web.structuredClone as unknown as () => void)()),
    web.structuredClone(1, undefined),
    caught(web, () => web.structuredClone(1, 1 as unknown as StructuredSerializeOptions)),
  ],
  'structuredClone: Blob and File': async ({ structuredClone, Blob, File }) => {
    const blob = structuredClone(new Blob(['a'], { type: 'x/y' }))
    const file = structuredClone(new File(['b'], 'n', { lastModified: 1 }))
    return [
      blob instanceof Blob,
      blob.type,
      await blob.text(),
      file instanceof File,
      file.name,
      file.lastModified,
    ]
  },
}
