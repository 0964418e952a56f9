/** The entry of the surface's bundle: runs before the program, and before any code of the user. */
import { installAtomics } from './atomics.ts'
import { installSurface } from './globals.ts'
import { trustedHeaders } from './headers.ts'
import { type Host, setHost } from './host.ts'
import { inspect } from './inspect.ts'
import { takeRefusal } from './intl.ts'
import { explain } from './missing.ts'

/** What the surface adds to the host, for the guest's own code. */
interface Shared extends Host {
  inspect: typeof inspect
  explain: typeof explain
  takeRefusal: typeof takeRefusal
  trustedHeaders: typeof trustedHeaders
}

/** What the engine brings beyond the language, or in part only: an answer that is wrong is worse than none. */
const ENGINE_EXTRAS = ['Intl', 'Temporal', 'WebAssembly', 'ShadowRealm', 'gc', 'InternalError']

const { __mayfly: host, queueMicrotask } = globalThis as unknown as {
  __mayfly: Shared
  queueMicrotask?: Host['microtask']
}
// QuickJS has one of its own; V8 leaves it to its host.
if (queueMicrotask !== undefined) host.microtask = (callback) => queueMicrotask(callback)
host.inspect = inspect
host.explain = explain
host.takeRefusal = takeRefusal
host.trustedHeaders = trustedHeaders
setHost(host)
for (const name of ENGINE_EXTRAS) Reflect.deleteProperty(globalThis, name)
installSurface(globalThis)
installAtomics()
