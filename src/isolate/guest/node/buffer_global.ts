/** The global `Buffer` of Node in the runtime `core`: the bundler puts it into the modules that name it. */
export { Buffer } from 'node:buffer'
