/** Sandboxes in virtual machines; without KVM or cargo these tests are skipped aloud. */
import { assertRejects } from '@std/assert'
import { Sandbox, type SandboxError, type SandboxOptions } from '@mayfly/mayfly/sandbox'
import { type Runtime, RUNTIMES, testIn } from '../isolated/fixture.ts'

/** A suite of one runtime: its tests, and a sandbox that is open while they run. */
export interface SandboxSuite {
  readonly runtime: Runtime
  readonly test: ReturnType<typeof testIn>
  /** One machine, so that the next run meets the same one. */
  readonly sandbox: () => Sandbox
}

/** Runs a suite in each runtime. */
export function inEachSandbox(options: SandboxOptions, suite: (suite: SandboxSuite) => void): void {
  for (const runtime of RUNTIMES) {
    let sandbox: Promise<Sandbox> | null = null
    const test = testIn(runtime)
    suite({
      runtime,
      test: (name, fn) =>
        test(name, async () => {
          sandbox ??= Sandbox.open({ vms: 1, runtime, ...options })
          opened = await sandbox
          await fn()
        }),
      sandbox: () => opened,
    })
    let opened: Sandbox
    Deno.test.afterAll(async () => {
      await (await sandbox)?.close()
    })
  }
}

/** The error of a class that a promise rejects with. */
export async function rejection<E extends SandboxError>(
  promise: Promise<unknown>,
  // deno-lint-ignore no-explicit-any
  kind: new (...args: any[]) => E,
): Promise<E> {
  return await assertRejects(() => promise, kind) as E
}
