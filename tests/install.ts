/** What the tests need beside Deno, and how it is come by. */

import { checkTools } from '../src/isolate/ffi/build/core_build.ts'

const CHROMIUM = ['chromium', 'fonts-liberation']

/** What the small guest is built with beside cargo; `src/isolate/ffi/build/core_build.ts` looks for it. */
const GUEST_TOOLS = ['cmake', 'make', 'gcc', 'libc6-dev', 'libsimde-dev']

/**
 * Installs Debian's Chromium for the browser tests, and what the small guest is built with, where that is possible: apt-get is there, we
 * are root, and MAYFLY_NO_INSTALL is not set. Says what it does; without it these tests say that they skip.
 */
export async function installTools(): Promise<void> {
  const packages: string[] = []
  const uses: string[] = []
  if (!await runs('chromium', ['--version'])) {
    packages.push(...CHROMIUM)
    uses.push('the browser tests')
  }
  if (await checkTools().then(() => false, () => true)) {
    packages.push(...GUEST_TOOLS)
    uses.push('the small guest')
  }
  if (packages.length > 0) await install(uses.join(' and '), packages)
}

async function install(whatFor: string, packages: readonly string[]): Promise<void> {
  const names = packages.join(' ')
  if (Deno.env.has('MAYFLY_NO_INSTALL') || Deno.uid() !== 0 || !await runs('apt-get', ['--version'])) {
    console.log(`SKIPPED: no tools for ${whatFor}; install them (Debian: apt-get install ${names})`)
    return
  }
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
