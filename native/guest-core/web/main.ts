/** The entry of the surface's bundle: runs before the program, and before any code of the user. */
import { installSurface } from './globals.ts'
import { type Host, setHost } from './host.ts'
import { inspect } from './inspect.ts'
import { explain } from './missing.ts'

/** What the surface adds to the host, for the guest's own code. */
interface Shared extends Host {
  inspect: typeof inspect
  explain: typeof explain
}

const { __mayfly: host } = globalThis as unknown as { __mayfly: Shared }
host.inspect = inspect
host.explain = explain
setHost(host)
installSurface(globalThis)
