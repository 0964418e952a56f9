/** Runs before any code of the user: what it replaces is replaced for all of it. */
import { installConsole } from './console.ts'
import { installRandom } from './random.ts'

/** fd 1, which carries frames. Kept here, as `Deno.stdout` leads to fd 2 afterwards. */
export const output: { writeSync(bytes: Uint8Array): number } = Deno.stdout

installRandom()
installConsole()
addEventListener('unhandledrejection', (event) => {
  // The server of plain handlers survives a stray rejection as well.
  event.preventDefault()
  console.error('mayfly: unhandled rejection\n', event.reason)
})
