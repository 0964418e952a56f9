/** Waits of the tests: for what has to come, however busy the machine is. */
import { delay } from '@std/async'

/** Longer than anything takes that comes at all. */
const PATIENCE_MS = 120_000

/** Waits until `holds`. Throws with `what` when that does not come. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (!await holds()) {
    if (performance.now() > end) throw new Error(`Waited in vain: ${what}`)
    await delay(5)
  }
}
