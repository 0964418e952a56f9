/** The pool's script, as anybody would write a worker. */
import { sumOfRoots } from './work.ts'

// The type checker knows `self` as a window's; here it is a worker's.
const self = globalThis as unknown as Pick<Worker, 'onmessage' | 'postMessage'>

self.onmessage = (event: MessageEvent<number>) => self.postMessage({ value: sumOfRoots(event.data) })
