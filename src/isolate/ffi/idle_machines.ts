/** When machines of programs that nobody asks are given back: each holds memory, descriptors and page tables of the host. */

/** A machine that no request came for in so long goes; its program's next request waits some milliseconds for another. */
export const IDLE_MS = 60_000
const LOOK_MS = IDLE_MS / 3

/** Calls `look` from time to time, which keeps no process alive; the result ends that. */
export function lookForIdle(look: () => void): () => void {
  const timer = setInterval(look, LOOK_MS)
  Deno.unrefTimer(timer)
  return () => clearInterval(timer)
}
