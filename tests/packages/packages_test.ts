/**
 * npm packages at work: each handler of `handlers/` answers the same whether it runs plain, isolated in Deno, or isolated in core, but
 * for what `known.ts` lists. `MAYFLY_PACKAGES=all` (`deno task test-packages`) asks all of them, `2/8` the second of eight parts, else a few
 * are asked.
 */
import { assert, assertEquals, assertStringIncludes } from '@std/assert'
import { fromFileUrl } from '@std/path'
import { MISSING, RUNTIMES } from '../isolated/fixture.ts'
import { DOCUMENT, formatPackages } from './document.ts'
import { findKnown, KNOWN_DIFFERENCES, type KnownDifference } from './known.ts'
import type { Line } from './run.ts'
import { type Answer, listHandlers } from './sites.ts'

const FOLDER = fromFileUrl(new URL('.', import.meta.url))
const QUICK = ['figlet', 'hono', 'jose', 'marked', 'preact', 'trpc', 'zod']
/** Programs of each runtime that are open at a time. */
const BATCH = 11

const all = await listHandlers()
const names = chooseNames(Deno.env.get('MAYFLY_PACKAGES'))
if (names === QUICK) {
  console.log(
    `SKIPPED: ${all.length - names.length} of ${all.length} npm packages, which deno task test-packages asks`,
  )
}

for (let from = 0; from < names.length; from += BATCH) {
  const batch = names.slice(from, from + BATCH)
  let lines: Promise<readonly Line[]> | undefined
  for (const name of batch) {
    Deno.test({
      name: `npm package ${name}`,
      ignore: MISSING !== '',
      async fn() {
        const own = (await (lines ??= ask(batch))).filter((line) => line.name === name)
        for (const runtime of RUNTIMES) compare(name, runtime, own)
      },
    })
  }
}

Deno.test('the page of the docs has the known differences and the measured times', async () => {
  assertEquals(await Deno.readTextFile(DOCUMENT), await formatPackages(), 'run tests/packages/document.ts')
})

Deno.test('every known difference is of a handler', () => {
  assertEquals(KNOWN_DIFFERENCES.filter(({ name }) => !all.includes(name)), [])
})

/** The handlers of a part, of all, or a few. */
function chooseNames(wanted: string | undefined): readonly string[] {
  if (wanted === 'all') return all
  const part = /^(\d+)\/(\d+)$/.exec(wanted ?? '')
  if (part === null) return QUICK
  const [number, parts] = [Number(part[1]), Number(part[2])]
  return all.slice(Math.floor(all.length * (number - 1) / parts), Math.floor(all.length * number / parts))
}

/** The answers of a batch, in a process of its own: it has the packages' configuration, and gives its memory back. */
async function ask(batch: readonly string[]): Promise<readonly Line[]> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      'run',
      '-A',
      '--no-check',
      '--no-prompt',
      '--frozen',
      'run.ts',
      '--modes',
      ['plain', ...RUNTIMES].join(),
      ...batch,
    ],
    cwd: FOLDER,
    stdin: 'null',
    env: {
      DENO_ENV: 'production',
      NODE_ENV: 'production',
      TZ: 'UTC',
      NO_COLOR: '1',
    },
  }).output()
  const decoder = new TextDecoder()
  assert(
    success,
    `the handlers ${batch.join(', ')} could not be asked:\n${decoder.decode(stderr)}`,
  )
  return decoder.decode(stdout).trim().split('\n').map((line) => JSON.parse(line))
}

function compare(
  name: string,
  runtime: (typeof RUNTIMES)[number],
  lines: readonly Line[],
): void {
  const plain = lines.filter(({ mode }) => mode === 'plain').map(({ answer }) => answer)
  const isolated = lines.filter(({ mode }) => mode === runtime).map((
    { answer },
  ) => answer)
  assert(
    plain.length > 0 && plain.length === isolated.length,
    `${name} was not asked in ${runtime}`,
  )
  assert(
    plain.some(({ status }) => status < 400),
    `${name}: no input has an answer in the plain handler`,
  )
  for (const [index, answer] of isolated.entries()) {
    const line = findKnown(name, runtime, index)
    const what = `${name} in ${runtime}, input ${index}`
    if (line === undefined) {
      assertEquals(
        shown(answer),
        shown(plain[index]),
        `${what}: ${answer.error ?? 'other answer'}`,
      )
    } else assertKnown(what, line, answer, plain[index])
  }
}

function assertKnown(
  what: string,
  { status, message }: KnownDifference,
  answer: Answer,
  plain: Answer,
): void {
  const differs = JSON.stringify(shown(answer)) !== JSON.stringify(shown(plain))
  assert(
    differs,
    `${what}: it is as the plain handler's now, want its line of known.ts removed`,
  )
  assertEquals(answer.status, status, `${what}: ${answer.error}`)
  assertStringIncludes(answer.error ?? shown(answer).body, message, what)
}

function shown({ status, headers, body }: Answer) {
  return {
    status,
    headers: Object.fromEntries(headers),
    body: new TextDecoder().decode(Uint8Array.fromBase64(body)),
  }
}
