/** Machines that run `handlers.ts`, and requests to it that have a channel. */
import { fromFileUrl } from '@std/path'
import { openVirtualMachines } from '../../../src/isolate/boot/virtual_machines.ts'
import { bundleOwn, bundleRuntime, RUNTIME_FILE } from '../../../src/isolate/bundle/bundle.ts'
import type { Completion, SubmitOptions } from '../../../src/isolate/machines/completion.ts'
import type { HostChannel, HostMessage, Say } from '../../../src/isolate/machines/host_channel.ts'
import type { BootedProgram, Machines, MachinesOptions } from '../../../src/isolate/machines/machines.ts'
import { type IsolateOptions, resolveIsolateOptions } from '../../../src/isolate/plan/options.ts'
import {
  GUEST_PATH,
  guestArguments,
  guestEnvironment,
  type Program,
} from '../../../src/isolate/plan/program.ts'
import { createStackMapper } from '../../../src/isolate/plan/stack.ts'
import { createSeed, encodeRequest } from '../../../src/isolate/wire/request_frame.ts'
import { decodeResponse } from '../../../src/isolate/wire/response_frame.ts'
import { WIDEST } from '../../../src/isolate/wire/wire.ts'
import type { Runtime } from '../fixture.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const NOTHING = new Uint8Array(0)

/** A program that talks. */
export interface Talkers {
  readonly machines: Machines
  readonly booted: BootedProgram
  readonly plan: Program
  /** What the program answers; its outcome in brackets where it does not. */
  ask(what: string, channel?: HostChannel, options?: Partial<SubmitOptions>): Promise<Told>
  close(): Promise<void>
}

export interface Told {
  readonly answer: unknown
  readonly completion: Completion
}

/** Opens machines and boots the program. `warmups`: queries of requests that run before the snapshot. */
export async function openTalkers(
  runtime: Runtime,
  options: IsolateOptions = {},
  machinesOptions: Partial<MachinesOptions> = {},
  warmups: readonly string[] = [],
): Promise<Talkers> {
  const machines = await openVirtualMachines({ vms: 2, queue: 2048, ...machinesOptions })
  try {
    const plan = await planTalker(runtime, options, warmups)
    const booted = await machines.boot(plan)
    return {
      machines,
      booted,
      plan,
      ask: async (what, channel, more = {}) => {
        const submitted = { timeoutMs: 20_000, channel, ...more }
        const completion = await machines.submit(booted, toFrame(what), submitted)
        return { answer: answerOf(completion), completion }
      },
      close: () => machines.close(),
    }
  } catch (error) {
    await machines.close()
    throw error
  }
}

/** A channel that answers each message at once with what `reply` makes of it, and counts. */
export function replying(
  reply: (text: string, message: HostMessage, say: Say) => string | null | Promise<string>,
): HostChannel & { readonly heard: string[]; ends: number } {
  return {
    heard: [],
    ends: 0,
    hear(message, say) {
      const text = JSON.parse(decoder.decode(message.head))
      this.heard.push(text)
      const answer = reply(text, message, say)
      const send = (text: string) =>
        say({ id: message.id, head: encoder.encode(JSON.stringify(text)), body: NOTHING })
      if (typeof answer === 'string') send(answer)
      else if (answer !== null) void answer.then(send)
    },
    end() {
      this.ends++
    },
  }
}

function answerOf(completion: Completion): unknown {
  if (completion.outcome !== 'answered') return `(${completion.outcome})`
  const { head, body } = decodeResponse(completion.frame, WIDEST)
  return head.error === undefined ? JSON.parse(decoder.decode(body)) : `(${head.error.message})`
}

function toFrame(what: string): Uint8Array<ArrayBuffer> {
  const url = `http://localhost/?${what}`
  return encodeRequest({ handler: 0, method: 'GET', url, path: '/', headers: [], seed: createSeed() })
}

async function planTalker(
  runtime: Runtime,
  given: IsolateOptions,
  warmups: readonly string[],
): Promise<Program> {
  const options = resolveIsolateOptions('talker', { runtime, ...given })
  const handlers = fromFileUrl(new URL('./handlers.ts', import.meta.url))
  const bundle = await bundleOwn(
    runtime,
    `import { listen, send, serve } from './${RUNTIME_FILE}'
import { createHandlers } from ${JSON.stringify(handlers)}
globalThis.Deno?.permissions?.revokeSync({ name: 'read' })
serve({
  outputBytes: ${options.outputBytes},
  logBytes: ${options.limits.logBytes},
  modules: [async () => createHandlers({ listen, send })],
  handlers: [{ name: 'talker', module: 0, export: 'GET' }],
})
`,
  )
  const route = { file: 'talker', path: 'talker', pattern: '/', methods: ['GET'], mount: false }
  return {
    hash: 'talker',
    id: 'talker',
    options,
    handlers: [{ route, method: 'GET' }],
    files: ['talker'],
    bundle: { ...bundle, inputs: [], missing: [] },
    runtime: await bundleRuntime(runtime),
    args: guestArguments(options, GUEST_PATH),
    env: guestEnvironment(options, () => undefined),
    warmup: warmups.map((what) => ({ handler: 0, frame: toFrame(what), count: 20, tried: null })),
    probes: [],
    stacks: createStackMapper({}),
  }
}
