/** A permission that is missing is said, with the flag that gives it, and not as a fault of something deep inside. */
import { assert, assertMatch } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { tempSite } from '../router/temp_site.ts'

const ROOT = fromFileUrl(new URL('../..', import.meta.url))
const ISOLATED = 'export const isolated = true\nexport const GET = (ctx) => ctx.send.text("")\n'

/** Asks a router for `path` in a process with these permissions; what it writes on both outputs. */
async function runWith(permissions: string[], files: Record<string, string>, code: string): Promise<string> {
  await using site = await tempSite({
    ...files,
    'main.ts':
      `import { Router } from '@mayfly/mayfly'\nconst router = new Router({ routesDir: 'routes' })\n${code}`,
  })
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ['run', '--no-prompt', '--no-check', '--config', `${ROOT}/deno.json`, ...permissions, 'main.ts'],
    cwd: site.root,
    env: { NO_COLOR: '1', DENO_ENV: 'production', MAYFLY_DENO: Deno.execPath() },
    stdin: 'null',
    signal: AbortSignal.timeout(20_000),
  }).output()
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr)
}

const ASK =
  `const response = await router.fetch(new Request('http://mayfly.test/a', { headers: { accept: 'application/json' } }))
console.log(response.status, await response.text())
await router.close()\n`
const SERVE = `await router.serve({ hostname: '127.0.0.1', port: 0, signal: AbortSignal.timeout(500) })\n`

Deno.test('without --allow-run an isolated route says so', async () => {
  const text = await runWith(['--allow-read', '--allow-env'], { 'routes/a.ts': ISOLATED }, ASK)
  assertMatch(text, /load route '.*a\.ts': .*esbuild.*run again with the --allow-run flag \(or -A\)/)
  assert(!/unref|main\.ts/.test(text), text)
})

Deno.test({
  name: 'without --allow-ffi the machines say so, and nothing is built',
  ignore: Deno.build.os !== 'linux',
  async fn() {
    const permissions = ['--allow-read', '--allow-env', '--allow-run', '--allow-write', '--allow-sys']
    const text = await runWith(permissions, { 'routes/a.ts': ISOLATED }, ASK)
    if (text.includes('/dev/kvm')) return console.log('SKIPPED: no KVM here, which is told first')
    assertMatch(text, /answer 503 \(isolation-unavailable\): .*run again with the --allow-ffi flag/)
    assert(!text.includes('building'), text)
    assertMatch(text, /^503 /m)
  },
})

Deno.test('without --allow-read and --allow-net the start says so, without a stack of Mayfly', async () => {
  const files = { 'routes/a.ts': 'export const GET = () => new Response("a")\n' }
  for (const [permissions, flag] of [[['--allow-net'], 'read'], [['--allow-read'], 'net']] as const) {
    const text = await runWith([...permissions], files, SERVE)
    assertMatch(text, new RegExp(`StartupError: Cannot .*run again with the --allow-${flag} flag`))
    assert(!text.includes('/src/'), text)
  }
})

Deno.test('a plain site needs no more than --allow-read and --allow-net', async () => {
  const files = { 'routes/a.ts': 'export const GET = () => new Response("a")\n' }
  const text = await runWith(['--allow-net', '--allow-read'], files, SERVE)
  assertMatch(text, /^mayfly: listening on http:\/\/localhost:\d+\/$/m)
  assert(!text.includes('rror'), text)
})
