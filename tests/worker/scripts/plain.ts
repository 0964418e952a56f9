// A worker as anybody would write it, with the ways in which one goes wrong.
const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent) => void
  postMessage(value: unknown, transfer?: Transferable[]): void
  close(): void
}
const shared = { value: 0 }

scope.onmessage = ({ data }) => {
  switch (data.act) {
    case 'echo':
      return scope.postMessage(data.value)
    case 'later':
      return void setTimeout(() => scope.postMessage(data.value), data.ms)
    case 'reuse':
      shared.value = data.value
      return scope.postMessage(shared)
    case 'throw':
      throw new Error('thrown in the worker')
    case 'reject':
      return void Promise.reject(new Error('rejected in the worker'))
    case 'loop':
      for (;;);
    case 'silent':
      return
    case 'close':
      return scope.close()
    case 'exit':
      Deno.exit(3)
      break
    case 'twice':
      scope.postMessage(data.value)
      return scope.postMessage('a second answer')
    case 'move': {
      const bytes = new Uint8Array(data.value)
      bytes[0]++
      return scope.postMessage({ bytes, buffer: bytes.buffer }, [bytes.buffer])
    }
    case 'idle-crash':
      scope.postMessage('dying')
      setTimeout(() => {
        throw new Error('thrown while idle')
      }, 1)
  }
}
