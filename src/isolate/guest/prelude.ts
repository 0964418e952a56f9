/** Runs before any code of the user, so that all of that code sees what it replaces. */
import { installConsole } from './console.ts'
import { host } from './host.ts'
import { installRandom } from './random.ts'

installRandom()
installConsole()
host.onRejection((reason) => {
  // The server of plain handlers survives a stray rejection as well.
  console.error('mayfly: unhandled rejection\n', reason)
})
