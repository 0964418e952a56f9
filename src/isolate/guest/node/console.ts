/** Node's `console` in the runtime `core`. */
export default console
export const { debug, dir, error, info, log, table, time, timeEnd, trace, warn } = console
