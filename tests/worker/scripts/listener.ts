addEventListener('message', (event) => {
  const { data } = event as MessageEvent
  ;(globalThis as unknown as { postMessage(value: unknown): void }).postMessage([data, data])
})
