import { assertEquals, assertStringIncludes } from '@std/assert'
import { decodeDescription } from '../../src/isolate/wire/response_frame.ts'
import { encodeControl } from '../../src/isolate/wire/request_frame.ts'
import { WIDEST } from '../../src/isolate/wire/wire.ts'
import { ask, exchange, toFrame, withGuest } from './guest_process.ts'

const GOOD = `export function GET() { return new Response('good') }`

Deno.test('state, session, validated input and headers travel both ways as data', async () => {
  const files = {
    'data.ts': `
      export const isolated = true
      export function GET(ctx) {
        const seen = { state: structuredClone(ctx.state), session: ctx.get.session(), validated: ctx.get.validated() }
        ctx.state.user.name = 'changed'
        ctx.state.big = 1n
        ctx.set.session({ n: 2 })
        ctx.set.header('x-b', '2').cookie('a', 'b')
        return ctx.send.json(seen)
      }
      export function POST(ctx) { ctx.state.a; return ctx.send.text('same') }
      export function PUT(ctx) { return ctx.send.json([typeof ctx.worker, ctx.state]) }
      export function PATCH(ctx) { return ctx.get.session() }`,
  }
  const more = {
    state: { user: { name: 'ann' }, requestId: 'r' },
    session: { data: { n: 1 } },
    validated: { value: [1] },
    pending: { single: [['x-a', '1']], appended: [['x-c', '3']] },
    status: 203,
  }
  await withGuest(files, async (guest) => {
    const { head, text } = await ask(guest, { more })
    assertEquals(JSON.parse(text), { state: more.state, session: { n: 1 }, validated: [1] })
    assertEquals(head, {
      status: 203,
      headers: [['content-type', 'application/json'], ['x-a', '1'], ['x-b', '2']],
      pending: {
        single: [['x-a', '1'], ['x-b', '2']],
        appended: [['x-c', '3'], ['set-cookie', 'a=b; Path=/']],
      },
      session: { data: { n: 2 } },
      state: Object.assign(Object.create(null), { user: { name: 'changed' }, requestId: 'r' }),
    })
    const same = await ask(guest, { method: 'POST', more: { state: more.state } })
    assertEquals(same.head, { status: 200, headers: [['content-type', 'text/plain; charset=utf-8']] })
    assertEquals((await ask(guest, { method: 'PUT' })).text, '["undefined",{}]')
    assertStringIncludes((await ask(guest, { method: 'PATCH' })).head.error!.message, 'no session middleware')
  })
})

Deno.test('a view goes to the host as name, data and options', async () => {
  const files = {
    'view.ts': `
      export const isolated = true
      export function GET(ctx) { return ctx.render('home', { a: 1, when: new Date(0) }) }
      export async function POST(ctx) {
        const page = await ctx.set.header('x-a', '1').status(201) && await ctx.render('p', {}, { status: 202, stream: true, headers: { 'x-b': '2' } })
        page.headers.set('x-c', '3')
        return page
      }
      export async function PUT(ctx) { return new Response(await ctx.render('p').text()) }`,
  }
  await withGuest(files, async (guest) => {
    const home = await ask(guest, {})
    assertEquals(home, {
      head: { view: { name: 'home', options: {} } },
      text: '{"a":1,"when":"1970-01-01T00:00:00.000Z"}',
    })
    const { head } = await ask(guest, { method: 'POST' })
    assertEquals(head.view, {
      name: 'p',
      options: { status: 202, stream: true, headers: [['x-b', '2'], ['x-c', '3']] },
    })
    assertEquals([head.pending?.single, head.setStatus], [[['x-a', '1']], 201])
    assertStringIncludes((await ask(guest, { method: 'PUT' })).head.error!.message, 'the host renders it')
  })
})

Deno.test('large bodies pass whole, and an answer over the limit is an error', async () => {
  const files = {
    'echo.ts': `
      export const isolated = { outputBytes: 300_000 }
      export async function POST(ctx) { return ctx.send.custom(await ctx.get.bytes()) }
      export async function PUT(ctx) { return ctx.send.text(await ctx.get.text()) }
      export async function PATCH(ctx) { return new Response((await ctx.get.request().blob()).stream()) }
      export function GET(ctx) { return ctx.send.text('é'.repeat(Number(ctx.get.query('n')))) }`,
  }
  await withGuest(files, async (guest) => {
    const letters = 'añ漢😀'.repeat(20_000)
    const bytes = new Uint8Array(300_000).map((_, index) => index * 31)
    const back = await exchange(guest, toFrame(guest.program, { method: 'POST', body: bytes }))
    assertEquals(back.slice(-bytes.length), bytes)
    assertEquals((await ask(guest, { method: 'PUT', body: letters })).text, letters)
    assertEquals((await ask(guest, { method: 'PATCH', body: letters })).text, letters)
    assertEquals((await ask(guest, { path: '/?n=150000' })).text.length, 150_000)
    for (const n of [150_001, 400_000, 20_000_000]) {
      const { head } = await ask(guest, { path: `/?n=${n}` })
      assertEquals([head.error?.http?.status, head.error?.http?.type], [502, 'isolation-output'])
      assertEquals(head.over, true)
    }
    const twice = await ask(guest, { method: 'POST', body: new Uint8Array(300_001) })
    assertEquals(twice.head.error?.http?.type, 'isolation-output')
    assertEquals((await ask(guest, { path: '/?n=3' })).text, 'ééé')
  })
})

Deno.test('a guest ends at bytes that are no frame', async () => {
  const files = { 'a.ts': `export const isolated = true\nexport function GET() { return new Response('a') }` }
  for (const bad of [[77, 65, 89, 70, 2], [1], new Array(16).fill(0)]) {
    await withGuest(files, async (guest) => {
      assertEquals((await ask(guest, {})).text, 'a')
      await guest.writer.write(new Uint8Array([...bad, ...new Array(20).fill(0)]))
      assertEquals((await guest.process.status).code, 1)
      assertStringIncludes(await guest.errors, 'Reading a frame: ')
    })
  }
})

Deno.test('a module that throws breaks its own handlers only, and describe says which', async () => {
  const files = {
    '_shared.ts': `if (true) throw new Error('no luck')\nexport const x = 1`,
    'bad.ts':
      `import { x } from './_shared.ts'\nexport const isolated = true\nexport function GET() { return x }`,
    'worse.ts':
      `import { x } from './_shared.ts'\nexport const isolated = true\nexport function GET() { return x }`,
    'good.ts': `export const isolated = true\n${GOOD}`,
    'odd.ts': `export const isolated = true\nexport const GET = 5\nexport default {}`,
    'stuck.ts': `export const isolated = true\nawait new Promise(() => {})\n${GOOD}`,
    'timed.ts': `export const isolated = true\nawait new Promise((r) => setTimeout(r, 5))\n${GOOD}`,
  }
  await withGuest(files, async (guest) => {
    const { handlers } = decodeDescription(
      await exchange(guest, encodeControl({ control: 'describe' })),
      WIDEST,
    )
    assertEquals(handlers.map(({ name, error }) => [name, error?.message.slice(0, 40)]), [
      ['bad.ts GET', 'no luck'],
      ['good.ts GET', undefined],
      ['odd.ts GET', 'Cannot serve odd.ts GET: its export is n'],
      ['odd.ts', 'Cannot serve odd.ts: its default export '],
      ['stuck.ts GET', 'Cannot load the module: it awaits a prom'],
      ['timed.ts GET', undefined],
      ['worse.ts GET', 'no luck'],
    ])
    assertEquals((await ask(guest, { file: 'good.ts' })).text, 'good')
    assertEquals((await ask(guest, { file: 'timed.ts' })).text, 'good')
    assertEquals((await ask(guest, { file: 'bad.ts' })).head.error?.message, 'no luck')
  })
})

Deno.test('the console and Deno.stdout lead to fd 2, as much as a request may write', async () => {
  const files = {
    'log.ts': `
      console.log('at start')
      export const isolated = true
      export function GET(ctx) {
        console.log('%s and', 'one', { a: 1 }); console.table([{ b: 2 }]); console.dir([3]); console.error('four')
        Deno.stdout.writeSync(new TextEncoder().encode('five\\n')); process.stdout.write('six\\n')
        return ctx.send.text('x')
      }
      export function POST(ctx) { for (let i = 0; i < 5000; i++) console.info('x'.repeat(100)); return ctx.send.text('y') }`,
  }
  let errors: Promise<string> | undefined
  await withGuest(files, async (guest) => {
    errors = guest.errors
    assertEquals((await ask(guest, {})).text, 'x')
    assertEquals((await ask(guest, { method: 'POST' })).text, 'y')
    await ask(guest, {})
  })
  const text = await errors!
  assertEquals(text.match(/one and|one \{ a: 1 \}|\[ 3 \]|four|at start/g)?.length, 7, text.slice(0, 500))
  assertEquals([text.match(/five/g)?.length, text.match(/six/g)?.length], [2, 2])
  // The byte over the share tells the host that there was more.
  assertEquals(text.match(/x{50,}\n?/g)?.join('').length, 65_537)
})
