/** Exits of requests. In some snapshots V8 is about to compile, and does so in every request: its threads ask for exits of their own. */
import { assertEquals } from '@std/assert'
import { until } from '../until.ts'
import type { Site } from './fixture.ts'

/** Snapshots that are tried. */
const BOOTS = 4
/** Requests of each kind: the fewest exits are those of the request itself. */
const TRIES = 10

/** Passes once `check`, which makes a snapshot of its own each time, passes; rejects as the last one does. */
export async function inSomeSnapshot(check: () => Promise<void>): Promise<void> {
  for (let boot = 1; boot < BOOTS; boot++) {
    try {
      return await check()
    } catch { /* The next snapshot is asked. */ }
  }
  await check()
}

/** The same for sites, each with a snapshot of its own. */
export function inSomeSite(open: () => Promise<Site>, check: (site: Site) => Promise<void>): Promise<void> {
  return inSomeSnapshot(async () => {
    const site = await open()
    try {
      await check(site)
    } finally {
      await site.close()
    }
  })
}

/** The fewest exits of some requests of a path, each answered with `text` and `status`. */
export async function fewestExits(site: Site, path: string, text: string, status = 200): Promise<number> {
  const before = site.events.length
  for (let i = 0; i < TRIES; i++) {
    const answer = await site.ask(path)
    assertEquals([answer.status, answer.text], [status, text])
  }
  const told = () => site.events.slice(before).filter(({ kind }) => kind === 'isolate:complete')
  await until('the events of the requests', () => told().length >= TRIES)
  return Math.min(...told().map(({ metadata }) => (metadata as { exits: number }).exits))
}
