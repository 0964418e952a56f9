/** Randomness in realms of `node:vm`, made before the snapshot and after it, and of the boundaries of forms. */
import type { Context } from '@mayfly/mayfly'

export const isolated = { timeoutMs: 20_000, warmup: [{ path: '/realms' }] }

interface Vm {
  createContext(object: object): object
  runInContext(code: string, context: object): unknown
  runInNewContext(code: string): unknown
  Script: new (code: string) => { runInNewContext(): unknown }
}

const DRAW = 'Math.random()'
const early = !('process' in globalThis) ? null : await makeEarly()

async function makeEarly() {
  // No literal: the runtime core's bundler would refuse it.
  const vm: Vm = await import(`node:${'vm'}`)
  const context = vm.createContext({})
  return { vm, context, draw: vm.runInContext('() => Math.random()', context) as () => number }
}

export async function GET(ctx: Context): Promise<Response> {
  const form = new FormData()
  form.append('text', 'a\nb')
  form.append('file', new File(['bytes'], 'name.txt', { type: 'text/plain' }))
  const response = new Response(form)
  const request = new Request('http://localhost/', { method: 'POST', body: form })
  const type = response.headers.get('content-type')
  const read = []
  for (const [name, value] of await response.formData()) {
    read.push(typeof value === 'string' ? [name, value] : [name, value.name, value.type, await value.text()])
  }
  return ctx.send.json({
    form: read,
    response: type,
    request: request.headers.get('content-type'),
    ...(early === null ? {} : drawInRealms(early)),
  })
}

function drawInRealms({ vm, context, draw }: NonNullable<typeof early>): object {
  return {
    early: vm.runInContext(DRAW, context),
    kept: draw(),
    late: vm.runInContext(DRAW, vm.createContext({})),
    fresh: vm.runInNewContext(DRAW),
    script: new vm.Script(DRAW).runInNewContext(),
  }
}
