/** The types of what programs reach, on both sides. */
import type { ContextEnv } from '@mayfly/mayfly'
import { environmentTypes, kv, type ProgramEnv, type ReachedProgram } from '@mayfly/mayfly/reach'
import type { Sandbox, SandboxWorker } from '@mayfly/mayfly/sandbox'
import { assertEquals, assertThrows } from '@std/assert'
import { join } from '@std/path'

const env = {
  GREETING: 'hi',
  LIMITS: { most: 5, names: ['a'] },
  MAIL: { send: (to: string, copies?: number) => ({ to, copies }), list: () => Promise.resolve(['a']) },
  now: () => 1,
  DB: kv('acme/', { path: ':memory:' }),
}

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
const isTrue = <T extends true>(_: T) => {}

/** Checked by the compiler; never run. */
export function checkTypes(
  seen: ProgramEnv<typeof env>,
  other: ProgramEnv<{ COUNTER: SandboxWorker }>,
  sandbox: Sandbox<typeof env>,
  merged: ContextEnv & ProgramEnv<typeof env>,
): void {
  isTrue<Same<typeof seen.GREETING, string>>(true)
  isTrue<Same<typeof seen.LIMITS, { most: number; names: string[] }>>(true)
  isTrue<Same<ReturnType<typeof seen.now>, Promise<number>>>(true)
  isTrue<Same<Parameters<typeof seen.MAIL.send>, [to: string, copies?: number | undefined]>>(true)
  isTrue<Same<ReturnType<typeof seen.MAIL.list>, Promise<string[]>>>(true)
  isTrue<Same<ReturnType<typeof seen.DB.get>, Promise<unknown>>>(true)
  isTrue<Same<typeof other.COUNTER, ReachedProgram>>(true)
  isTrue<Same<ReturnType<typeof merged.now>, Promise<number>>>(true)
  const code = { mainModule: 'a.js', modules: {} }
  sandbox.get('a', { ...code, env })
  sandbox.get('a', () => Promise.resolve({ ...code, env }))
  // @ts-expect-error: the sandbox's programs have more than that
  sandbox.get('a', { ...code, env: { GREETING: 'hi' } })
  // @ts-expect-error: a function is none of text
  sandbox.run('', { env: { ...env, GREETING: () => 1 } })
}

Deno.test('an environment is declared for the authors of programs, and what they write by it is checked', async () => {
  const program = {
    call: () => null,
    fetch: () => new Response(),
  }
  const text = environmentTypes(
    { ...env, 'odd name': null, COUNTER: { [Symbol.for('mayfly.binding')]: program } },
    {
      'MAIL.send': '(to: string, copies?: number): Promise<{ to: string; copies?: number }>',
      now: '(): Promise<number>',
    },
  )
  assertEquals(
    text,
    `/** What the host gives this program. */
export interface Env {
  readonly GREETING: string
  readonly LIMITS: { readonly most: number; readonly names: (string)[] }
  readonly MAIL: {
    send(to: string, copies?: number): Promise<{ to: string; copies?: number }>
    list(...args: unknown[]): Promise<unknown>
  }
  now(): Promise<number>
  readonly DB: {
    get(key: string): Promise<unknown>
    set(key: string, value: unknown, options?: { ttlMs?: number }): Promise<void>
    delete(key: string): Promise<boolean>
    list(options?: { prefix?: string; cursor?: string; limit?: number }): Promise<{ keys: string[]; cursor: string | null }>
    compareAndSet(key: string, expected: unknown, value: unknown, options?: { ttlMs?: number }): Promise<boolean>
    increment(key: string, by?: number, options?: { ttlMs?: number }): Promise<number>
  }
  readonly "odd name": null
  readonly COUNTER: { readonly fetch: typeof fetch } & Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>
}
`,
  )
  const folder = await Deno.makeTempDir()
  try {
    await Deno.writeTextFile(join(folder, 'env.d.ts'), text)
    const use = (body: string) =>
      `import type { Env } from './env.d.ts'
export default { async fetch(request: Request, env: Env): Promise<Response> { ${body}; return await env.COUNTER.fetch(request) } }`
    await Deno.writeTextFile(
      join(folder, 'right.ts'),
      use(
        "const { to } = await env.MAIL.send('a'); const n: number = await env.now(); await env.DB.set(to, n); await env.COUNTER.next!()",
      ),
    )
    await Deno.writeTextFile(join(folder, 'wrong.ts'), use('await env.MAIL.send(5)'))
    const check = async (name: string) => {
      const { success } = await new Deno.Command(Deno.execPath(), {
        args: ['check', '--no-config', join(folder, name)],
        stdout: 'null',
        stderr: 'null',
      }).output()
      return success
    }
    assertEquals([await check('right.ts'), await check('wrong.ts')], [true, false])
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
})

Deno.test('a signature is of a function that there is', () => {
  assertThrows(() => environmentTypes(env, { 'MAIL.none': '(): void' }), TypeError, "'MAIL.none'")
  assertThrows(() => environmentTypes(env, { GREETING: '(): void' }), TypeError, "'GREETING'")
})
