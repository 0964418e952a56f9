/** Requests that a developer's router writes down for the warm-up of its isolated routes. */
import { assert, assertEquals, assertMatch, assertRejects } from '@std/assert'
import { join } from '@std/path'
import { StartupError } from '@mayfly/mayfly'
import { planPrograms } from '../../src/isolate/plan/program.ts'
import { CLIENTS } from '../../src/isolate/warm/warmup_clients.ts'
import { createRecorder, MAX_SAMPLE_BODY, MAX_SAMPLES } from '../../src/isolate/warm/warmup_recorder.ts'
import type { WarmupRequest } from '../../src/isolate/warm/warmup_request.ts'
import { setEnvironment } from '../environment.ts'
import { toRoutes } from '../isolate/guest_process.ts'
import { ScriptedMachines } from './scripted_machines.ts'
import { createWorkerSite, errorsOf, type WorkerSite } from './worker_site.ts'

const HANDLERS = `export function GET(ctx) { return ctx.send.text('') }
export function POST(ctx) { return ctx.send.text('') }
`

interface Recording {
  readonly site: WorkerSite
  readonly folder: string
  readonly told: string[]
  /** Ends the site, so that all is written, and gives the entries. */
  end(name?: string): Promise<WarmupRequest[]>
}

/** Runs a site of one route, `users/[id].ts`, that records; a query with `fail` is answered 500. */
async function recording(run: (recording: Recording) => Promise<void>, before?: string): Promise<void> {
  const folder = await Deno.makeTempDir()
  const target = join(folder, 'users/[id].warmup.json')
  try {
    await Deno.mkdir(join(folder, 'users'))
    await Deno.writeTextFile(join(folder, 'users/[id].ts'), `export const isolated = true\n${HANDLERS}`)
    await Deno.writeTextFile(
      join(folder, 'app.ts'),
      `export const isolated = true\nexport default { fetch() {} }\n`,
    )
    if (before !== undefined) await Deno.writeTextFile(target, before)
    {
      using _environment = setEnvironment({ DENO_ENV: 'development' })
      const told: string[] = []
      const site = createWorkerSite(folder, {
        isolate: { vms: 1, recordWarmup: true },
        openMachines: () => Promise.resolve(new ScriptedMachines()),
        middleware: (ctx, next) => {
          if (ctx.get.query('user') !== undefined) {
            ctx.state.user = { id: ctx.get.query('user'), apiKey: 'k1' }
          }
          return next()
        },
      })
      site.app.isolated.recorder = createRecorder((line) => void told.push(line))
      await run({
        site,
        folder,
        told,
        async end(name = 'users/[id].warmup.json') {
          await site.close()
          return JSON.parse(await Deno.readTextFile(join(folder, name)))
        },
      })
      await site.close()
    }
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

const json = (value: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(value),
  headers: { 'content-type': 'application/json', ...headers },
})

Deno.test('requests are written down once for each shape, beside the route, and shown', () =>
  recording(async ({ site, told, end, folder }) => {
    for (const id of ['ann', 'bob']) await site.ask(`/users/${id}?page=${id.length}`)
    await site.ask('/users/ann')
    await site.ask('/users/ann', { method: 'HEAD' })
    await site.ask('/users/ann', json({ name: 'Ann', tags: ['a'] }))
    await site.ask('/users/bob', json({ name: 'Bob', tags: ['b', 'c'] }))
    await site.ask('/users/ann', json({ name: 'Ann', tags: [1] }))
    await site.ask('/users/none/there')
    const entries = await end()
    const headers = { 'content-type': 'application/json' }
    assertEquals(entries, [
      { path: '/users/ann?page=3' },
      { path: '/users/ann' },
      { method: 'POST', path: '/users/ann', headers, body: { name: 'Ann', tags: ['a'] } },
      { method: 'POST', path: '/users/ann', headers, body: { name: 'Ann', tags: [1] } },
    ])
    assertMatch(told[0], /records requests of isolated routes/)
    assertEquals(told[1], 'mayfly: recorded GET /users/[id]?page')
    assertEquals(told[3], 'mayfly: recorded POST /users/[id], application/json, body up to 1 KiB')
    assertMatch(
      told.at(-1)!,
      /^mayfly: wrote 4 more warm-up requests to .*\[id\]\.warmup\.json: review it, name it in /,
    )
    // What was written is a warm-up.
    const source = `export const isolated = { warmup: './[id].warmup.json' }\n${HANDLERS}`
    await Deno.writeTextFile(join(folder, 'users/[id].ts'), source)
    const routes = toRoutes(folder, { 'users/[id].ts': source }).map((route) => ({
      ...route,
      pattern: '/users/[id]',
    }))
    const { programs, failures } = await planPrograms(routes)
    assertEquals(failures, [])
    assertEquals(programs[0].warmup.length, 4 * CLIENTS.length)
  }))

Deno.test('secrets stay out, in headers, queries, bodies and what middleware left, and the entry says so', () =>
  recording(async ({ site, end, told }) => {
    await site.ask('/users/ann?user=7&access_token=t1', {
      ...json({ password: 'p1', pin: 1234, nested: [{ clientSecret: { a: 's1' }, author: 'Ann' }] }),
      headers: {
        'content-type': 'application/json',
        cookie: 'sid=c1; theme=dark',
        authorization: 'Bearer b1',
        'x-api-key': 'k2',
        'user-agent': 'ua1',
        accept: 'text/html',
      },
    })
    const [entry] = await end()
    assertEquals(entry, {
      method: 'POST',
      path: '/users/ann?user=7&access_token=redacted',
      headers: {
        accept: 'text/html',
        authorization: 'Bearer redacted',
        'content-type': 'application/json',
        cookie: 'sid=redacted; theme=redacted',
        'x-api-key': 'redacted',
      },
      body: { password: 'redacted', pin: 0, nested: [{ clientSecret: 'redacted', author: 'Ann' }] },
      state: { user: { id: '7', apiKey: 'redacted' } },
      note: 'redacted: query, authorization, cookie, x-api-key, password, pin, clientSecret, apiKey',
    })
    assert(told.some((line) => line.includes('(redacted: query')))
    assert(!told.join().includes('t1'))
  }))

Deno.test('forms, multipart forms and bytes are written so that they come back', () =>
  recording(async ({ site, end }) => {
    const form = new FormData()
    form.append('a', '1')
    form.append('f', new File([new Uint8Array([0, 255])], 'x.bin', { type: 'image/png' }))
    const post = (body: BodyInit, headers: HeadersInit = {}) =>
      site.ask('/users/1', { method: 'POST', body, headers })
    await post(form)
    await post(new URLSearchParams({ a: '1' }))
    await post(new Uint8Array([0, 255]))
    await post('a,b', { 'content-type': 'text/csv' })
    const types = (await end()).map(({ headers, body }) => [headers?.['content-type'], body])
    assertEquals(types, [
      ['multipart/form-data', [
        { name: 'a', value: '1' },
        { name: 'f', filename: 'x.bin', type: 'image/png', base64: 'AP8=' },
      ]],
      ['application/x-www-form-urlencoded;charset=UTF-8', { a: '1' }],
      ['', { base64: 'AP8=' }],
      ['text/csv', 'a,b'],
    ])
  }))

Deno.test('samples are few and small, each method has its own', () =>
  recording(async ({ site, end, told }) => {
    for (let i = 0; i < 2 * MAX_SAMPLES; i++) await site.ask(`/users/1?q${i}=1`)
    for (let i = 0; i < 2; i++) await site.ask('/users/1', json({ big: 'x'.repeat(MAX_SAMPLE_BODY) }))
    await site.ask('/users/1', json({ small: 1 }))
    const entries = await end()
    assertEquals(entries.map(({ method = 'GET' }) => method), [...new Array(MAX_SAMPLES).fill('GET'), 'POST'])
    assertEquals(told.filter((line) => line.includes('in pieces')), [
      'mayfly: not recorded, as its body came in pieces: POST /users/[id]',
    ])
  }))

Deno.test('an app has one file for all that it takes', () =>
  recording(async ({ site, end }) => {
    for (const path of ['/app', '/app/users/1', '/app/users/2', '/app/orders']) await site.ask(path)
    assertEquals((await end('app.warmup.json')).map(({ path }) => path), [
      '/app',
      '/app/users/1',
      '/app/orders',
    ])
  }))

Deno.test('what a file holds already stays, and its shapes are known', () =>
  recording(async ({ site, end }) => {
    await site.ask('/users/2?page=7')
    await site.ask('/users/2?sort=a')
    assertEquals(await end(), [{ path: '/users/1?page=1', note: 'reviewed' }, { path: '/users/2?sort=a' }])
  }, '[{ "path": "/users/1?page=1", "note": "reviewed" }]'))

Deno.test('a file that cannot be read is told of and left alone', async () => {
  const broken = '[{ "path": 5 }]'
  const told = await errorsOf(() =>
    recording(async ({ site, folder }) => {
      await site.ask('/users/2')
      await site.ask('/users/2?a=1')
      await site.close()
      assertEquals(await Deno.readTextFile(join(folder, 'users/[id].warmup.json')), broken)
    }, broken)
  )
  assertEquals(told.length, 1)
  assertMatch(
    told[0],
    /^mayfly: record requests of '.*\[id\]\.ts': entry 1: path is 5.*\[id\]\.warmup\.json:1:2\)$/,
  )
})

Deno.test('production does not record, and says so at its start', async () => {
  using _environment = setEnvironment({})
  const site = createWorkerSite('limits', { isolate: { recordWarmup: true } })
  await assertRejects(() => site.ask('/quick'), StartupError, 'isolate.recordWarmup is true in production')
  await site.close()
})

Deno.test('without the option nothing is written', async () => {
  using _environment = setEnvironment({ DENO_ENV: 'development' })
  const site = createWorkerSite('limits', { openMachines: () => Promise.resolve(new ScriptedMachines()) })
  await site.ask('/quick')
  assertEquals(site.app.isolated.recorder, null)
  await site.close()
})
