/** Native programs for tests: in C, Rust and Go. Without a C compiler their tests are skipped aloud. */
import { assert } from '@std/assert'
import { fromFileUrl, join } from '@std/path'
import { findCargo } from '../../src/isolate/ffi/build/toolchain.ts'
import { MISSING, testIsolated } from './fixture.ts'

const INCLUDE = fromFileUrl(new URL('../../native/guest/include', import.meta.url))
const NATIVE = fromFileUrl(new URL('../../native', import.meta.url))
const EXAMPLES = fromFileUrl(new URL('../../native/guest/examples', import.meta.url))

const hasCompiler = await new Deno.Command('cc', { args: ['--version'], stdout: 'null', stderr: 'null' })
  .output().then(({ success }) => success, () => false)
if (!hasCompiler && MISSING === '') {
  console.log('SKIPPED: native programs: no C compiler: install gcc and libc6-dev')
}

/** A test that needs a machine and a C compiler. */
export function testNative(name: string, fn: () => Promise<void>): void {
  if (hasCompiler) testIsolated(name, fn)
  else Deno.test.ignore(name, () => {})
}

/** Compiles a file of `native/guest/examples`. */
export function compileExample(name: string, to: string): Promise<void> {
  return compile(join(EXAMPLES, `${name}.c`), to, '-static')
}

/** Builds a file of `native/guest/examples` in Rust, as its first lines say. */
export async function buildRustExample(name: string, to: string): Promise<void> {
  const { command, env } = await findCargo()
  const args = ['build', '--quiet', '--locked', '--release', '--package', 'mayfly-guest', '--example', name]
  const { success, stderr } = await new Deno.Command(command, { args, cwd: NATIVE, env }).output()
  assert(success, new TextDecoder().decode(stderr))
  await Deno.copyFile(join(NATIVE, 'target/release/examples', name), to)
}

/** Builds the example in Go; false where its compiler is not installed, which it says. */
export async function buildGo(to: string): Promise<boolean> {
  const args = [
    'build',
    '-trimpath',
    '-ldflags',
    '-s -w -linkmode external -extldflags -static',
    '-o',
    to,
    '.',
  ]
  const command = new Deno.Command('go', { args, cwd: join(EXAMPLES, 'go'), env: { CGO_ENABLED: '1' } })
  const built = await command.output().catch(() => null)
  if (built === null) console.log('SKIPPED: the example in Go: no Go compiler')
  else assert(built.success, new TextDecoder().decode(built.stderr))
  return built !== null
}

/** Compiles a program that says `text` to whatever it is asked. */
export async function compileSaying(text: string, to: string): Promise<void> {
  const source = await Deno.makeTempFile({ prefix: 'mayfly-native-', suffix: '.c' })
  const quoted = JSON.stringify(text)
  await Deno.writeTextFile(
    source,
    `#include "mayfly.h"
    int main(void) {
      mayfly_request request;
      while (mayfly_wait_for_request(&request)) mayfly_respond(200, "text/plain", ${quoted}, ${text.length});
    }`,
  )
  await compile(source, to, '-static')
  await Deno.remove(source)
}

/** Compiles elsewhere and renames, as builds should. */
export async function compile(source: string, to: string, ...flags: string[]): Promise<void> {
  const made = await Deno.makeTempFile({ prefix: 'mayfly-native-' })
  const args = ['-O1', '-w', '-I', INCLUDE, ...flags, '-o', made, source]
  const { success, stderr } = await new Deno.Command('cc', { args }).output()
  assert(success, new TextDecoder().decode(stderr))
  await Deno.rename(made, to)
}
