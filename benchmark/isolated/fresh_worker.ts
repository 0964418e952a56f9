/** A worker that answers its only request. */

// The type checker knows `self` as a window's; here it is a worker's.
const self = globalThis as unknown as Pick<Worker, 'postMessage'>

self.postMessage({ hello: 'world!' })
