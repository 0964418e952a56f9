/** What the tests need beside Deno, and how it is come by. */

import { checkTools } from '../src/isolate/ffi/build/core_build.ts'

const CHROMIUM = ['chromium', 'fonts-liberation']

/** What the small guest is built with beside cargo; `src/isolate/ffi/build/core_build.ts` looks for it. */
const GUEST_TOOLS = ['cmake', 'make', 'gcc', 'libc6-dev', 'libsimde-dev']

/**
 * Installs Debian's Chromium for the browser tests where that is possible: apt-get is there, we are root, and
 * MAYFLY_NO_INSTALL is not set. Says what it does; without it the browser tests say that they skip.
 */
export async function installChromium(): Promise<void> {
  if (!await runs('chromium', ['--version'])) await install('chromium', 'the browser tests', CHROMIUM)
}

/** Installs what the small guest is built with, under the same conditions; without it its tests say that they skip. */
export async function installGuestTools(): Promise<void> {
  const missing = await checkTools().then(() => false, () => true)
  if (missing) await install('SIMDe or CMake', 'the small guest', GUEST_TOOLS)
}

async function install(what: string, whatFor: string, packages: readonly string[]): Promise<void> {
  if (Deno.env.has('MAYFLY_NO_INSTALL') || Deno.uid() !== 0 || !await runs('apt-get', ['--version'])) {
    console.log(
      `SKIPPED: no ${what} for ${whatFor}; install it (Debian: apt-get install ${packages.join(' ')})`,
    )
    return
  }
  const names = packages.join(', ')
  console.log(`installing ${names} with apt-get for ${whatFor} (MAYFLY_NO_INSTALL=1 stops this)`)
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  await apt(['update', '-q'], env)
  await apt(['install', '-y', '-q', '--no-install-recommends', ...packages], env)
}

async function runs(command: string, args: string[]): Promise<boolean> {
  try {
    return (await new Deno.Command(command, { args, stdout: 'null', stderr: 'null' }).output()).success
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false
    throw error
  }
}

async function apt(args: string[], env: Record<string, string>): Promise<void> {
  const { success, stderr } = await new Deno.Command('apt-get', { args, env, stdin: 'null', stdout: 'null' })
    .output()
  if (!success) console.error(`SKIPPED: apt-get ${args[0]} failed\n${new TextDecoder().decode(stderr)}`)
}
