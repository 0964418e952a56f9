/** What runs in a base until it gets a program to load. */
import { RUNTIME_FILE } from './bundle_input.ts'

/** Where the script that waits lies in the guest. */
export const BOOTSTRAP_PATH = '/bootstrap.js'

/** The script; it does before it waits what its programs would each do else. */
export const BOOTSTRAPS = {
  deno: `import * as runtime from './${RUNTIME_FILE}'
await runtime.practiseLoading(runtime)
await runtime.prime()
runtime.awaitProgram(runtime)
`,
  core: `import * as runtime from './${RUNTIME_FILE}'
runtime.awaitProgram(runtime)
`,
}
