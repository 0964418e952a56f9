/** What one run leaves in its machine, looked for by the next: of the same program, of another one, and of code without a name. */
import { assert, assertEquals } from '@std/assert'
import type { SandboxCode } from '@mayfly/mayfly/sandbox'
import { until } from '../until.ts'
import { inEachSandbox } from './fixture.ts'

/** Puts a text wherever code can leave one; gives the names of the places. */
const PLANT = `export function plant(secret) {
  const places = {
    global: () => { globalThis['g' + secret] = secret },
    prototype: () => { Object.defineProperty(Object.prototype, 'p' + secret, { value: secret, configurable: true, enumerable: false }) },
    method: () => { Array.prototype.at = Object.assign(() => secret, { told: secret }) },
    symbol: () => { globalThis[Symbol.for('s' + secret)] = secret },
    pattern: () => { if (!/(\\w+)/.test(secret)) throw new Error('no match') },
    module: () => { kept.push(secret) },
    handed: () => { globalThis.held = { secret, list: [secret], map: new Map([[secret, secret]]) } },
    stacks: () => { Error.prepareStackTrace = () => secret },
    timer: () => { globalThis.timer = setTimeout(() => secret, 1e6) },
    bytes: () => { globalThis.bytes = [1, 64, 4096, 65536].map((n) => new Uint8Array(n * 32).map((_, i) => secret.charCodeAt(i % 32))) },
    bigint: () => { globalThis.number = BigInt('0x' + secret) },
    console: () => console.log(secret),
    variable: () => { if (typeof process === 'object') process.env['V' + secret] = secret },
    listener: () => { if (typeof addEventListener === 'function') addEventListener('e' + secret, () => secret) },
    mark: () => { if (typeof performance.mark === 'function') performance.mark(secret) },
  }
  const done = []
  for (const [name, put] of Object.entries(places)) try { put(); done.push(name) } catch {}
  return done
}
const kept = []
`

/** Looks for a text in all that code can reach; gives where it was. Nothing that the run before may have changed is trusted more than needed. */
const LOOK = `export async function look(secret) {
  const found = new Set()
  const see = (text, place) => { if (typeof text === 'string' && text.includes(secret)) found.add(place) }
  for (const name of ['$1', 'input', 'lastMatch', 'leftContext', 'rightContext']) see(RegExp[name], 'pattern')
  see(String(new Error('x').stack), 'stacks')
  if (typeof performance.getEntries === 'function') for (const { name } of performance.getEntries()) see(name, 'mark')
  if (typeof process === 'object') { for (const [name, value] of Object.entries(process.env)) see(name + value, 'variable') }
  if (typeof Symbol.for('s' + secret) === 'symbol' && Symbol.for('s' + secret) in globalThis) found.add('symbol')
  if (typeof kept !== 'undefined') see(kept.join(), 'module')
  const seen = new Set()
  const walk = (value, path, depth) => {
    if (typeof value === 'bigint') return see(value.toString(16).padStart(32, '0'), path)
    if (typeof value === 'string') return see(value, path)
    if (value === null || (typeof value !== 'object' && typeof value !== 'function') || seen.has(value) || depth > 4 || seen.size > 20_000) return
    seen.add(value)
    if (value instanceof Uint8Array) return see(Array.from(value.subarray(0, 64), (byte) => String.fromCharCode(byte)).join(''), path)
    if (value instanceof Map) for (const entry of value) walk(entry, path, depth + 1)
    for (const key of Reflect.ownKeys(value)) {
      see(String(key), path)
      // No getter is called: one of Deno's may end the program where it is called on another object.
      const { value: member } = Reflect.getOwnPropertyDescriptor(value, key)
      walk(member, path || String(key).slice(0, 20), depth + 1)
    }
    walk(Object.getPrototypeOf(value), path, depth + 1)
  }
  walk(globalThis, '', 0)
  walk(Array.prototype, 'method', 0)
  // What new memory holds before anybody wrote to it.
  const makers = [(n) => new Uint8Array(n)]
  if (typeof Buffer === 'function') makers.push((n) => Buffer.allocUnsafe(n), (n) => Buffer.allocUnsafeSlow(n))
  for (const make of makers) for (let n = 64; n <= 1 << 20; n *= 16) {
    see(Array.from({ length: 8 }, () => make(n)).map((bytes) => new TextDecoder('latin1').decode(bytes)).join(''), 'memory')
  }
  return [...found]
}
`
const code = (text: string, more: Partial<SandboxCode> = {}): SandboxCode => ({
  mainModule: 'main.js',
  modules: { 'main.js': text },
  limits: { timeoutMs: 30_000 },
  ...more,
})
const BOTH = PLANT + LOOK

function makeSecret(): string {
  return crypto.randomUUID().replaceAll('-', '')
}

inEachSandbox({ promoteAfter: 3, limits: { timeoutMs: 30_000 } }, ({ runtime, test, sandbox }) => {
  test('what is planted is found in its own run', async () => {
    const text = `${BOTH}\nexport const both = async (secret) => { plant(secret); return await look(secret) }`
    const found = await sandbox().load(code(text)).call('both', makeSecret()) as string[]
    // Or the runs below find nothing because they look nowhere.
    assert(found.length >= 6, found.join())
    for (const place of [...runtime === 'deno' ? ['pattern'] : [], 'module', 'symbol']) {
      assert(found.includes(place), found.join())
    }
  })

  test('a run finds nothing of the run before, whoever ran it', async () => {
    const named = sandbox().get(`leak ${runtime}`, code(BOTH))
    const other = sandbox().get(`other ${runtime}`, code(BOTH))
    const looks: (readonly [string, (secret: string) => Promise<unknown>])[] = [
      ['once', async (secret) => {
        const { value, logs } = await sandbox().run(LOOK, { export: 'look', args: [secret] })
        return [...value as string[], ...logs.includes(secret) ? ['logs'] : []]
      }],
      ['the same program', (secret) => named.call('look', secret)],
      ['another program', (secret) => other.call('look', secret)],
    ]
    const plants: (readonly [string, (secret: string) => Promise<unknown>])[] = [
      ['once', async (secret) => (await sandbox().run(PLANT, { export: 'plant', args: [secret] })).value],
      ['a program', (secret) => named.call('plant', secret)],
    ]
    // Before and after the programs have snapshots of their own.
    for (let round = 0; round < 2; round++) {
      for (const [planter, plant] of plants) {
        for (const [looker, look] of looks) {
          const secret = makeSecret()
          assert((await plant(secret) as string[]).length > 10)
          assertEquals(await look(secret), [], `${looker} after ${planter}, round ${round}`)
        }
      }
    }
  })

  test('code that was seen before costs as much as code that was not: nothing of it is kept', async () => {
    const told: { readonly pages: number; readonly exits: number }[] = []
    const stop = sandbox().on('sandbox:complete', ({ metadata }) => {
      const { dirtyPages, exits } = metadata as { dirtyPages: number; exits: number }
      told.push({ pages: dirtyPages, exits })
    })
    const ask = async (word: string) => {
      const modules = {
        'main.js': `import { f } from './lib.js'\nexport const run = () => f('${word}')`,
        'lib.js': `export const f = (text) => text + '${word}'`,
      }
      assertEquals(await sandbox().load({ mainModule: 'main.js', modules }).call('run'), word + word)
    }
    const known = makeSecret()
    const runs = 40
    // In turn, as the first runs of a machine cost more, whatever they are.
    for (let i = 0; i < runs; i++) for (const word of [known, makeSecret()]) await ask(word)
    await until('the events of the runs', () => told.length >= 2 * runs)
    stop()
    const middle = (odd: number, of: 'pages' | 'exits') => {
      const own = told.filter((_, i) => i >= 4 && i % 2 === odd).map((run) => run[of])
      return own.toSorted((a, b) => a - b)[own.length >> 1]!
    }
    const [hit, miss] = [0, 1].map((odd) => ({ pages: middle(odd, 'pages'), exits: middle(odd, 'exits') }))
    // A module that need not be compiled writes a fraction of the pages.
    assert(Math.abs(hit!.pages - miss!.pages) <= miss!.pages / 5, Deno.inspect([hit, miss]))
    assert(Math.abs(hit!.exits - miss!.exits) <= 1, Deno.inspect([hit, miss]))
  })
})
