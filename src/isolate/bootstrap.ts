/** What runs in a base until it is told which program to load. */
import { RUNTIME_FILE } from './bundle.ts'

/** Where the script that waits lies in the guest. */
export const BOOTSTRAP_PATH = '/bootstrap.js'

/**
 * The script. Deno reads a module that is none of its own first: what it needs for that is there then, and shared, when it loads
 * a program.
 */
export const BOOTSTRAPS = {
  deno: `import { awaitProgram, exercise } from './${RUNTIME_FILE}'
await import('data:text/javascript,export default 1')
await exercise()
awaitProgram()
`,
  core: `import { awaitProgram } from './${RUNTIME_FILE}'
awaitProgram()
`,
}
