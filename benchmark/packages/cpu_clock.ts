/** CPU time of the calling thread, which a neighbour on the core does not lengthen. */

/** Of Linux: `CLOCK_THREAD_CPUTIME_ID`. */
const THREAD_CPU = 3

const { symbols: { clock_gettime } } = Deno.dlopen('libc.so.6', {
  clock_gettime: { parameters: ['i32', 'buffer'], result: 'i32' },
})
const time = new BigInt64Array(2)

/** Microseconds of CPU time that this thread has used. */
export function threadMicros(): number {
  clock_gettime(THREAD_CPU, time)
  return Number(time[0]) * 1e6 + Number(time[1]) / 1e3
}
