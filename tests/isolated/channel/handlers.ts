/** A program that talks with the host; it runs in the machine. The query of a request says what it does. */
import type { MessageParts } from '../../../src/isolate/wire/message_frame.ts'

/** The guest's side of the channel. */
export interface Channel {
  send(message: MessageParts): void
  listen(listener: (message: MessageParts) => void, waits?: () => boolean): void
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The handlers of the program. */
export function createHandlers({ send, listen }: Channel) {
  let next = 1
  let waits = 0
  const pending = new Map<number, (text: string) => void>()
  const heard: string[] = []
  listen(
    ({ id, head, body }) => {
      const text = `${decoder.decode(head)} ${body.length}`
      heard.push(text)
      if (id === 0) {
        for (const resolve of pending.values()) resolve('closed')
        pending.clear()
        waits = 0
      }
      const resolve = pending.get(id)
      if (resolve === undefined) return
      pending.delete(id)
      waits--
      resolve(text)
    },
    () => waits > 0,
  )

  /** Says something to the host, and waits for its answer. */
  function call(what: string, bytes = 0): Promise<string> {
    const id = next
    next += 2
    waits++
    const { promise, resolve } = Promise.withResolvers<string>()
    pending.set(id, resolve)
    send({ id, head: encoder.encode(JSON.stringify(what)), body: new Uint8Array(bytes).fill(7) })
    return promise
  }

  function tell(what: string, bytes = 0): void {
    send({ id: 1, head: encoder.encode(JSON.stringify(what)), body: new Uint8Array(bytes) })
  }

  const acts: Record<string, (n: number) => Promise<unknown> | unknown> = {
    hello: () => 'hello',
    one: () => call('one'),
    many: (n) => Promise.all(Array.from({ length: n }, (_, index) => call(`call ${index}`))),
    async row(n) {
      const answers = []
      for (let index = 0; index < n; index++) answers.push(await call(`call ${index}`))
      return answers
    },
    large: (n) => call('large', n),
    async race(ms) {
      const time = performance.now()
      const slept = new Promise((resolve) => setTimeout(() => resolve('slept'), ms))
      const won = await Promise.race([call('slow'), slept])
      return [won, performance.now() - time >= ms]
    },
    async beside(ms) {
      let ticks = 0
      const ticking = setInterval(() => ticks++, ms)
      const answer = await call('slow')
      clearInterval(ticking)
      return [answer, ticks]
    },
    tell: (n) => {
      for (let index = 0; index < n; index++) tell(`told ${index}`)
      return 'told'
    },
    flood: (n) => {
      for (let index = 0; index < n; index++) tell('flood', 1 << 20)
      return 'flooded'
    },
    async spin() {
      tell('spins')
      await null
      for (;;);
    },
    never: () => call('never'),
    settles: async () => {
      await call('one')
      return await new Promise(() => {})
    },
    over: () => tell('over', (1 << 20) + 1),
  }

  async function GET({ request }: { request: Request }): Promise<Response> {
    const { searchParams } = new URL(request.url)
    const [[name, value]] = [...searchParams]
    const told = await acts[name!]!(Number(value))
    return new Response(JSON.stringify(told))
  }

  return { GET }
}
