/** Node's `stream/promises` in the runtime `core`. */
import stream from 'node-in-core/stream'

const { promises } = stream
export default promises
export const { finished, pipeline } = promises
