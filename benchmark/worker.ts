/** The pool's script, as anybody would write a worker. */

// The type checker knows `self` as a window's; here it is a worker's.
const self = globalThis as unknown as Pick<Worker, 'onmessage' | 'postMessage'>

self.onmessage = ({ data: terms }: MessageEvent<number>) => {
  let value = 0
  for (let i = 0; i < terms; i++) value += Math.sqrt(i)
  self.postMessage({ value })
}
