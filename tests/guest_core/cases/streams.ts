import { type Cases, caught, type Web } from './case.ts'

function count({ ReadableStream }: Web, end: number, log: unknown[] = []): ReadableStream<number> {
  let next = 0
  return new ReadableStream<number>({
    start: () => void log.push('start'),
    pull(controller) {
      log.push(`pull ${controller.desiredSize}`)
      if (next === end) controller.close()
      else controller.enqueue(next++)
    },
    cancel: (reason) => void log.push(`cancel ${reason}`),
  })
}

async function gather(stream: ReadableStream<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const chunk of stream) all.push(chunk)
  return all
}

export const STREAMS: Cases = {
  'ReadableStream: for await': (web) => gather(count(web, 3)),
  'ReadableStream: pulls when there is room': async (web) => {
    const log: unknown[] = []
    const reader = count(web, 2, log).getReader()
    const results = [await reader.read(), await reader.read(), await reader.read(), await reader.read()]
    return [log, results]
  },
  'ReadableStream: a reader locks': async (web) => {
    const stream = count(web, 2)
    const reader = stream.getReader()
    const locked = [
      stream.locked,
      caught(web, () => stream.getReader()),
      await caught(web, () => stream.cancel()),
      caught(web, () => stream.tee()),
    ]
    reader.releaseLock()
    return [
      locked,
      stream.locked,
      await caught(web, () => reader.read()),
      await caught(web, () => reader.closed),
      await gather(stream),
    ]
  },
  'ReadableStream: a break in for await cancels': async (web) => {
    const log: unknown[] = []
    const stream = count(web, 9, log)
    for await (const chunk of stream) if (chunk === 1) break
    return [log.at(-1), stream.locked]
  },
  'ReadableStream: values with preventCancel': async (web) => {
    const stream = count(web, 3)
    for await (const chunk of stream.values({ preventCancel: true })) if (chunk === 0) break
    return gather(stream)
  },
  'ReadableStream: an error reaches the reader': async (web) => {
    const stream = new web.ReadableStream({
      start(controller) {
        controller.enqueue(1)
        controller.error(new RangeError('x'))
      },
    })
    const reader = stream.getReader()
    return [
      await caught(web, () => reader.read()),
      await caught(web, () => reader.closed),
      await caught(web, () => reader.cancel()),
    ]
  },
  'ReadableStream: pull that throws, start that throws': async (web) => [
    await caught(web, () =>
      gather(
        new web.ReadableStream({
          pull() {
            throw new RangeError('x')
          },
        }),
      )),
    caught(web, () =>
      new web.ReadableStream({
        start() {
          throw new RangeError('y')
        },
      })),
    await caught(
      web,
      () => gather(new web.ReadableStream({ start: () => Promise.reject(new TypeError('z')) })),
    ),
  ],
  'ReadableStream: cancel': async (web) => {
    const log: unknown[] = []
    const stream = count(web, 9, log)
    await stream.cancel('why')
    return [log.at(-1), await gather(stream), await stream.cancel()]
  },
  'ReadableStream: cancel that throws': (web) =>
    caught(web, () =>
      new web.ReadableStream({
        cancel() {
          throw new RangeError('x')
        },
      }).cancel()),
  'ReadableStream: the controller': (web) => {
    const results: unknown[] = []
    new web.ReadableStream({
      start(controller) {
        results.push(controller.desiredSize)
        controller.enqueue('a')
        results.push(controller.desiredSize)
        controller.close()
        results.push(
          controller.desiredSize,
          caught(web, () => controller.enqueue('b')),
          caught(web, () => controller.close()),
        )
      },
    }, { highWaterMark: 3 })
    return results
  },
  'ReadableStream: strategies': (web) => [
    caught(web, () => new web.ReadableStream({}, { highWaterMark: -1 }).locked),
    caught(web, () => new web.ReadableStream({}, { highWaterMark: NaN }).locked),
    caught(web, () => new web.ReadableStream({}, { size: 1 as unknown as () => number }).locked),
    caught(web, () =>
      new web.ReadableStream({
        start(controller) {
          controller.enqueue(1)
        },
      }, { size: () => -1 }).locked),
  ],
  'ReadableStream: sizes of chunks': async (web) => {
    const sizes: unknown[] = []
    const stream = new web.ReadableStream<string>({
      start(controller) {
        controller.enqueue('abc')
        sizes.push(controller.desiredSize)
        controller.enqueue('de')
        sizes.push(controller.desiredSize)
        controller.close()
      },
    }, { highWaterMark: 10, size: (chunk) => chunk.length })
    return [await gather(stream), sizes]
  },
  'ReadableStream: of wrong sources': (web) => [
    caught(web, () => new web.ReadableStream(null as unknown as UnderlyingSource).locked),
    caught(web, () => new web.ReadableStream({ pull: 1 } as unknown as UnderlyingSource).locked),
    caught(web, () => new web.ReadableStream({ type: 'x' } as unknown as UnderlyingSource).locked),
    new web.ReadableStream().locked,
  ],
  'ReadableStream: tee': async (web) => {
    const [first, second] = count(web, 3).tee()
    return [await gather(first), await gather(second)]
  },
  'ReadableStream: tee, and one side goes away': async (web) => {
    const log: unknown[] = []
    const [first, second] = count(web, 3, log).tee()
    const gone = first.cancel('one')
    const rest = await gather(second)
    await gone
    return [rest, log.some((line) => String(line).startsWith('cancel'))]
  },
  'ReadableStream: tee, and both sides go away': async (web) => {
    const log: unknown[] = []
    const [first, second] = count(web, 9, log).tee()
    await Promise.all([first.cancel('one'), second.cancel('two')])
    return log.at(-1)
  },
  'ReadableStream: tee of a broken one': async (web) => {
    const [first, second] = new web.ReadableStream({
      start(controller) {
        controller.error(new RangeError('x'))
      },
    }).tee()
    return [await caught(web, () => gather(first)), await caught(web, () => gather(second))]
  },
  'ReadableStream: from': async (web) => {
    const from = (web.ReadableStream as unknown as { from(source: unknown): ReadableStream }).from
    return [
      await gather(from([1, Promise.resolve(2)])),
      await gather(from((async function* () {
        yield await Promise.resolve('a')
      })())),
      caught(web, () => from(1)),
      caught(web, () => from(null)),
    ]
  },
  'ReadableStream: reads that wait are served in turn': (web) => {
    let give: (value: number) => void = () => {}
    const stream = new web.ReadableStream<number>({
      start: (controller) => void (give = (value) => controller.enqueue(value)),
    })
    const reader = stream.getReader()
    const reads = [reader.read(), reader.read()]
    give(1)
    give(2)
    return Promise.all(reads)
  },
  'ReadableStream: readers and iterators': (web) => {
    const stream = new web.ReadableStream()
    return [
      Object.prototype.toString.call(stream),
      Object.prototype.toString.call(stream.getReader()),
      caught(web, () => new web.ReadableStreamDefaultReader(stream)),
      caught(web, () => new (web.ReadableStreamDefaultController as unknown as new () => object)()),
      web.ReadableStream.prototype.values === web.ReadableStream.prototype[Symbol.asyncIterator],
    ]
  },
}
