/** Runs before any code of the user: what it replaces is replaced for all of it. */
import { installConsole } from './console.ts'
import { host } from './host.ts'
import { installRandom } from './random.ts'

installRandom()
installConsole()
host.onRejection((reason) => {
  // The server of plain handlers survives a stray rejection as well.
  console.error('mayfly: unhandled rejection\n', reason)
})
