import { type Cases, caught, type Web } from './case.ts'

/** Resolves with the data of so many messages of a port, which it closes then. */
function gather(port: MessagePort, count: number): Promise<unknown[]> {
  const data: unknown[] = []
  return new Promise((resolve) => {
    port.onmessage = (event) => {
      data.push(event.data)
      if (data.length < count) return
      port.close()
      resolve(data)
    }
  })
}

function nap(web: Web, ms: number): Promise<void> {
  return new Promise((resolve) => void web.setTimeout(resolve, ms))
}

export const MESSAGES: Cases = {
  'MessageChannel: messages come in order, as copies': async ({ MessageChannel }) => {
    const { port1, port2 } = new MessageChannel()
    const gathered = gather(port1, 3)
    const value = { a: [1], when: new Map([[1, 2]]) }
    port2.postMessage(value)
    value.a.push(2)
    port2.postMessage(undefined)
    port2.postMessage('last')
    return await gathered
  },
  'MessageChannel: what is sent before the start waits': async (web) => {
    const { port1, port2 } = new web.MessageChannel()
    port2.postMessage(1)
    await nap(web, 5)
    const log: unknown[] = []
    port1.addEventListener('message', (event) => log.push(event.data))
    await nap(web, 5)
    log.push('start')
    port1.start()
    await nap(web, 20)
    port1.close()
    return log
  },
  'MessageChannel: a message is a task, behind what is under way and its microtasks': async (web) => {
    const { port1, port2 } = new web.MessageChannel()
    const log: string[] = []
    const gathered = gather(port1, 1).then(() => log.push('message'))
    port2.postMessage(0)
    Promise.resolve().then(() => log.push('microtask'))
    log.push('now')
    await gathered
    return log
  },
  'MessageChannel: buffers move': async ({ MessageChannel }) => {
    const { port1, port2 } = new MessageChannel()
    const gathered = gather(port1, 2)
    const [one, two] = [new Uint8Array([1, 2]).buffer, new Uint8Array([3]).buffer]
    port2.postMessage(one, [one])
    port2.postMessage({ two }, { transfer: [two] })
    return [await gathered, one.byteLength, two.byteLength]
  },
  'MessageChannel: what cannot be copied is refused': (web) => {
    const { port1, port2 } = new web.MessageChannel()
    const outcome = caught(web, () => port2.postMessage(() => 1))
    port1.close()
    port2.close()
    return outcome
  },
  'MessageChannel: the event': async ({ MessageChannel, MessageEvent }) => {
    const { port1, port2 } = new MessageChannel()
    const event = await new Promise<MessageEvent>((resolve) => {
      port1.onmessage = resolve
      port2.postMessage({ a: 1 })
    })
    port1.close()
    return [event.type, event.data, event.origin, event.lastEventId, event instanceof MessageEvent]
  },
  'MessageEvent: members': ({ MessageEvent, Event }) => {
    const event = new MessageEvent('x', { data: 1, origin: 'o', lastEventId: 'l' })
    const empty = new MessageEvent('y')
    return [event.data, event.origin, event.lastEventId, event instanceof Event, empty.data, empty.origin]
  },
  'MessagePort: nobody constructs one': (web) =>
    caught(web, () => new (web.MessagePort as unknown as new () => unknown)()),
}
