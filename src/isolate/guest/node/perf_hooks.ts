/** Node's `perf_hooks` in the runtime `core`: its clock. */
const { performance } = globalThis
export default { performance }
export { performance }
