/** A WebSocket client of the tests: its messages in their order, and how it was closed. */

export interface SocketClient {
  readonly socket: WebSocket
  /** Code and reason. */
  readonly closed: Promise<readonly [number, string]>
  /** The next message; rejects where the socket is closed before it. */
  next(): Promise<string | ArrayBuffer>
}

/** Connects; rejects where that is refused. */
export async function connect(url: string, protocols: string[] = []): Promise<SocketClient> {
  const socket = new WebSocket(url, protocols)
  socket.binaryType = 'arraybuffer'
  const waiting: (string | ArrayBuffer)[] = []
  let wake = () => {}
  let isClosed = false
  socket.onmessage = ({ data }) => {
    waiting.push(data)
    wake()
  }
  const closed = new Promise<readonly [number, string]>((done) => {
    socket.onclose = ({ code, reason }) => {
      isClosed = true
      done([code, reason])
      wake()
    }
  })
  await new Promise<void>((done, fail) => {
    socket.onopen = () => done()
    socket.onerror = (event) => {
      event.preventDefault()
      fail(new Error(`Cannot connect to ${url}: ${(event as ErrorEvent).message}`))
    }
  })
  return {
    socket,
    closed,
    async next() {
      while (waiting.length === 0) {
        if (isClosed) throw new Error(`The socket was closed: ${(await closed).join(' ')}`)
        await new Promise<void>((go) => wake = go)
      }
      return waiting.shift()!
    },
  }
}
