/**
 * What a guest or a client writes is read by the host in time that grows with its length at most: each reader meets the worst inputs that
 * are known for it, of 4 000 to 16 000 characters, and its steps are counted. Steps of regular expressions cannot be counted, so each in
 * the files that read such texts is shown to be unable to go back over what it has read.
 */
import { assert, assertEquals } from '@std/assert'
import { checkForm } from '../../src/context/form_bounds.ts'
import { applyPending } from '../../src/context/headers.ts'
import { parseCookies } from '../../src/context/cookies.ts'
import { isHeaderName, isHeaderValue, trimHeaderValue } from '../../src/context/header_text.ts'
import { toPrintable } from '../../src/errors/printable.ts'
import { parseStackFrame } from '../../src/errors/stack_frame.ts'
import type { Admission } from '../../src/isolate/answer/admission.ts'
import { toResponse } from '../../src/isolate/answer/answer_to_context.ts'
import { toGrants } from '../../src/isolate/plan/grants.ts'
import { beforeLastWords } from '../../src/isolate/processes/last_words.ts'
import { decodeDescription, decodeResponse } from '../../src/isolate/wire/response_frame.ts'
import { createStackMapper, mapStack } from '../../src/isolate/plan/stack.ts'
import { makeFrame, RESPONSE, WIDEST } from '../../src/isolate/wire/wire.ts'
import { createContext } from '../context/request.ts'
import { openStepCounter, type StepCounter } from '../steps.ts'

let counter: StepCounter
Deno.test.beforeAll(async () => {
  counter = await openStepCounter()
})
Deno.test.afterAll(() => counter.close())

/** Texts of about `n` characters. */
const TEXTS: Readonly<Record<string, (n: number) => string>> = {
  spaces: (n) => ' '.repeat(n),
  spaces_within: (n) => ` x${' '.repeat(n)}x`,
  letters: (n) => 'a'.repeat(n),
  digits: (n) => `    at f (file:///a.ts${':1'.repeat(n / 2)}`,
  at: (n) => `    ${'at '.repeat(n / 3)}`,
  open: (n) => `    at ${'('.repeat(n)}:1:2)`,
  frames: (n) => '    at f (file:///program.js:1:1)\n'.repeat(n / 34),
  frame: (n) => `    at f (file:///${'a/'.repeat(n / 2)}program.js:1:1)`,
  headers: (n) => 'x-a: b\r\n'.repeat(n / 8),
  lines: (n) => '\n'.repeat(n),
  escapes: (n) => '\x1b'.repeat(n),
  pairs: (n) => 'a=b; '.repeat(n / 5),
  equals: (n) => '='.repeat(n),
  semicolons: (n) => ';'.repeat(n),
  ampersands: (n) => '&'.repeat(n),
  dashes: (n) => '-'.repeat(n),
  quotes: (n) => '"'.repeat(n),
}

const mapper = createStackMapper({
  'program.js': '{"version":3,"sources":["a.ts"],"mappings":"AAAA"}',
})

/** Readers of text; what they refuse they may refuse by an error. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  parseStackFrame,
  mapStack: (text) => mapStack(mapper, text),
  toPrintable,
  trimHeaderValue,
  isHeaderName,
  isHeaderValue,
  parseCookies,
  'the log of a worker process': (text) => beforeLastWords(`${text}Fatal process out of memory${text}`),
  'ctx.get.cookie': (text) => createContext('/', { headers: { cookie: text.trim() } }).get.cookie('a'),
  'ctx.get.query': (text) => createContext(`/?${text}`).get.query(),
  'ctx.set.header': (text) => createContext('/').set.header('a', text),
  'the number of fields of a form': (text) => checkForm(encoder.encode(text), '-'.repeat(60)),
  'an urlencoded form': (body) => post('application/x-www-form-urlencoded', body),
  'a multipart form, its headers': (text) =>
    post(`multipart/form-data; boundary=edge`, `--edge\r\n${text}\r\n\r\n--edge--`),
  'a multipart form, what comes before it': (text) =>
    post(`multipart/form-data; boundary=edge`, `\r\n${text}\r\n\r\n--edge--`),
  'a multipart form, a field': (text) =>
    post(
      `multipart/form-data; boundary=${'-'.repeat(60)}`,
      `--${'-'.repeat(60)}\r\ncontent-disposition: form-data; name="a"\r\n\r\n${text}\r\n--${
        '-'.repeat(60)
      }--`,
    ),
  'a header value of an answer': (text) => answer({ status: 200, headers: [['a', text]] }),
  'a header name of an answer': (text) => answer({ status: 200, headers: [[text, 'a']] }),
  'a reason of an answer': (text) => answer({ status: 200, headers: [], statusText: text }),
  'a cookie of an answer': (text) =>
    answer({ status: 200, headers: [], pending: { single: [], appended: [['set-cookie', text]] } }),
  'an error of an answer': (text) => answer({ error: { name: text, message: text, stack: text } }),
  'a view of an answer': (text) => answer({ view: { name: text } }),
  'data of a view': (text) => answer({ view: { name: 'v' } }, text),
  'an answer that is no JSON': (text) => read(encoder.encode(text)),
  'a description': (text) =>
    decodeDescription(
      frame(JSON.stringify({ handlers: [{ name: text, error: { name: 'E', message: text, stack: text } }] })),
      WIDEST,
    ),
}

Deno.test('the count of steps tells a square from a line', async () => {
  const [small, large] = await counter.count([1000, 2000].map((n) => () => {
    const headers = new Headers()
    for (let i = 0; i < n; i++) headers.append(`x-${i}`, 'a')
  }))
  assert(large > small * 3, `${large} is not much more than ${small}`)
})

for (const [name, reader] of Object.entries(READERS)) {
  for (const [kind, make] of Object.entries(TEXTS)) {
    Deno.test(`${name}: ${kind}, in steps that grow as the text does`, async () => {
      await assertLinear((n) => {
        const text = make(n)
        return () => reader(text)
      })
    })
  }
}

/** Answers of about `n` members. */
const ANSWERS: Readonly<Record<string, (n: number) => object>> = {
  headers: (n) => ({ status: 200, headers: many(n, (i) => [`x-${i}`, 'a']) }),
  'headers of one name': (n) => ({ status: 200, headers: many(n, () => ['x-a', 'a']) }),
  'collected headers': (n) => ({
    status: 200,
    headers: [],
    pending: { single: many(n, (i) => [`x-${i}`, 'a']), appended: [] },
  }),
  'headers of an error': (n) => ({
    error: {
      name: 'E',
      message: 'm',
      http: { status: 400, type: 't', headers: Object.fromEntries(many(n, (i) => [`x-${i}`, 'a'])) },
    },
  }),
  'members of the state': (n) => ({
    status: 200,
    headers: [],
    state: Object.fromEntries(many(n, (i) => [`m${i}`, i])),
  }),
  'names in Vary': (n) => ({
    status: 200,
    headers: [['vary', 'a']],
    pending: { single: [], appended: many(n / 20, (i) => ['vary', many(20, (j) => `x-${i}-${j}`).join()]) },
  }),
  'no headers at all': (n) => ({ status: 200, headers: Object.fromEntries(many(n, (i) => [`m${i}`, i])) }),
}

for (const [name, make] of Object.entries(ANSWERS)) {
  Deno.test(`an answer with many ${name}, in steps that grow as their number does`, async () => {
    await assertLinear((n) => {
      const bytes = frame(JSON.stringify(make(n / 4)))
      return () => {
        const given = admission()
        const response = toResponse(given, decodeResponse(bytes, WIDEST), mapper) as Response
        applyPending(given.ctx, response.headers, false)
      }
    })
  })
}

Deno.test('a form of many fields becomes a record, and many headers are set, in steps that grow as their number does', async () => {
  const forms: readonly ((n: number) => string)[] = [
    (n) => many(Math.min(n / 16, 1024), (i) => `f${i}=a`).join('&'),
    (n) => many(Math.min(n / 16, 1024), () => 'f=a').join('&'),
  ]
  for (const make of forms) {
    await assertLinear((n) => {
      const body = new URLSearchParams(make(n))
      return () => createContext('/', { method: 'POST', body }).get.body()
    })
  }
  await assertLinear((n) => () => {
    const ctx = createContext('/')
    for (let i = 0; i < n; i++) ctx.set.header(`x-${i}`, 'a')
  })
})

/** Files whose regular expressions meet texts of guests and clients, and those of them that are safe though they look otherwise. */
const FILES = [
  'context/cookies.ts',
  'context/form_bounds.ts',
  'context/get.ts',
  'context/header_text.ts',
  'context/limits.ts',
  'context/set.ts',
  'errors/printable.ts',
  'errors/source_place.ts',
  'errors/stack_frame.ts',
  'isolate/answer/admission.ts',
  'isolate/answer/answer_to_context.ts',
  'isolate/plan/grants.ts',
  'isolate/processes/guest_process.ts',
  'isolate/processes/last_words.ts',
  'isolate/answer/refusals.ts',
  'isolate/wire/request_line.ts',
  'isolate/wire/response_frame.ts',
]

Deno.test('no regular expression that reads such a text can go back over it', async () => {
  let count = 0
  for (const file of FILES) {
    const source = await Deno.readTextFile(new URL(`../../src/${file}`, import.meta.url))
    for (
      const [, pattern] of source.matchAll(
        /(?<=[=(,:] ?)\/((?:\[(?:\\.|[^\]])*\]|\\.|[^/\\\n*])(?:\[(?:\\.|[^\]])*\]|\\.|[^/\\\n])*)\//g,
      )
    ) {
      count++
      assert(isOnePass(pattern), `${file}: /${pattern}/`)
    }
  }
  assert(count >= 5, `${count} were found`)
  assertEquals(['a+b', '^a+b+', '^(a+)+$', '.*x', 'x{2,}', '^a+$', 'abc', '[+*]'].map(isOnePass), [
    ...[false, false, false, false, false],
    ...[true, true, true],
  ])
})

/** Whether a pattern repeats nothing without a bound, or one class of characters, from the start of the text to its end. */
function isOnePass(pattern: string): boolean {
  const bare = pattern.replaceAll(/\\./g, 'x').replaceAll(/\[[^\]]*\]/g, 'c')
  return !/[*+]|\{\d+,\}/.test(bare) || /^\^\w[*+]\$$/.test(bare)
}

const encoder = new TextEncoder()

/** Steps at four times a length are at most five times as many, beside what any run takes. */
async function assertLinear(prepare: (n: number) => () => unknown): Promise<void> {
  const runs = [4000, 16_000].map((n) => {
    const run = prepare(n)
    return async () => {
      try {
        await run()
      } catch {
        // Refused: that is fine, as long as it was quick.
      }
    }
  })
  // The first calls set up what later ones share.
  await runs[0]()
  const [small, large] = await counter.count(runs)
  assert(large <= small * 5 + 20_000, `${small} steps became ${large}`)
}

function post(type: string, body: string): Promise<unknown> {
  return createContext('/', { method: 'POST', body, headers: { 'content-type': type } }).get.body()
}

function many<T>(n: number, make: (index: number) => T): T[] {
  return Array.from({ length: n }, (_, index) => make(index))
}

function frame(header: string, body = ''): Uint8Array<ArrayBuffer> {
  return makeFrame(RESPONSE, encoder.encode(header), encoder.encode(body))
}

function read(header: Uint8Array<ArrayBuffer>): unknown {
  return decodeResponse(makeFrame(RESPONSE, header, new Uint8Array(0)), WIDEST)
}

function answer(head: object, body?: string): unknown {
  return toResponse(admission(), decodeResponse(frame(JSON.stringify(head), body), WIDEST), mapper)
}

function admission(): Admission {
  return { ctx: createContext('/'), grants: toGrants(['state', 'cookies']), refusals: null }
}
