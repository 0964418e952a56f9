/** What holds in most snapshots of a program. In some of them V8 is about to compile, and does so in every request: its threads ask the host. */
import type { Site } from './fixture.ts'

/** Snapshots that are tried. */
const BOOTS = 4

/** Whether one of some sites, each with a snapshot of its own, passes `check`; rejects with what the last one said. */
export async function inSomeSnapshot(
  open: () => Promise<Site>,
  check: (site: Site) => Promise<void>,
): Promise<void> {
  for (let boot = 1;; boot++) {
    const site = await open()
    try {
      return await check(site)
    } catch (error) {
      if (boot === BOOTS) throw error
    } finally {
      await site.close()
    }
  }
}
