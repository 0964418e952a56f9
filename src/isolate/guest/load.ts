/** What a base does: it waits for a program to load, and leaves the frames to that program. */
import type { DrawHead, LoadHead } from '../wire/message.ts'
import { answerControl } from './answer.ts'
import { createHead } from './http/head.ts'
import { host, type Namespace } from './host.ts'
import { drawNatively, seed } from './random.ts'

/**
 * Takes frames until one names a program, and begins to load that. Randomness is reseeded first: what a program draws while it loads is
 * no other's. The program reads the next frame; one that cannot be loaded ends the guest. `runtime` is the guest's file, as programs import
 * it.
 */
export function awaitProgram(runtime: Namespace): void {
  host.settle('base')
  for (;;) {
    const json = host.receive(createHead())
    if (json === null) host.exit(0)
    const head = JSON.parse(json) as DrawHead | LoadHead
    if (head.control === 'load') return load(head, runtime)
    drawNatively(head.count)
    answerControl({})
  }
}

/** In a base, before it waits. */
export function practiseLoading(runtime: Namespace): Promise<void> {
  return host.practiseLoading(runtime)
}

function load({ name, memoryBytes, seed: entropy }: LoadHead, runtime: Namespace): void {
  host.limitMemory(memoryBytes)
  seed(entropy)
  host.load(name, runtime).catch((error: unknown) => {
    console.error(error)
    host.exit(1)
  })
}
