/** What the tests need beside Deno, and how it is come by. */

const CHROMIUM = ['chromium', 'fonts-liberation']

/**
 * Installs Debian's Chromium for the browser tests where that is possible: apt-get is there, we are root, and
 * MAYFLY_NO_INSTALL is not set. Says what it does; without it the browser tests say that they skip.
 */
export async function installChromium(): Promise<void> {
  if (await runs('chromium', ['--version'])) return
  if (Deno.env.has('MAYFLY_NO_INSTALL') || Deno.uid() !== 0 || !await runs('apt-get', ['--version'])) {
    console.log('SKIPPED: no chromium for the browser tests; install it (Debian: apt-get install chromium)')
    return
  }
  console.log(
    `installing ${
      CHROMIUM.join(' and ')
    } with apt-get for the browser tests (MAYFLY_NO_INSTALL=1 stops this)`,
  )
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  await apt(['update', '-q'], env)
  await apt(['install', '-y', '-q', '--no-install-recommends', ...CHROMIUM], env)
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
