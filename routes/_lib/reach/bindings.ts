/** What isolated routes of the site may call of the host. */
import type { Sandbox } from '@mayfly/mayfly/sandbox'

const COUNTER = new URL('./counter.js', import.meta.url)

/** Bindings by name. The counter is a program in a machine of its own that is not reset: it starts with its first call. */
export function createBindings(sandbox: () => Sandbox) {
  const counter = () =>
    sandbox().get('counter', async () => ({
      mainModule: 'counter.js',
      modules: { 'counter.js': await Deno.readTextFile(COUNTER) },
    }), { ephemeral: false })
  return { COUNTER: { next: () => counter().call('next') } }
}
