/** The text of a route file may come from a stranger: what looks at it takes steps that grow with its length at most, and none twice. */
import { assert } from '@std/assert'
import { findHints } from '../../src/isolate/hints/request_hints.ts'
import { openStepCounter, type StepCounter } from '../steps.ts'

let counter: StepCounter
Deno.test.beforeAll(async () => {
  counter = await openStepCounter()
})
Deno.test.afterAll(() => counter.close())

/** Texts of about `n` characters. */
const TEXTS: Readonly<Record<string, (n: number) => string>> = {
  'open brackets': (n) => '{'.repeat(n),
  'brackets of all kinds': (n) => '({['.repeat(n / 3),
  'constants inside each other': (n) => 'const a={b:'.repeat(n / 11),
  'functions inside each other': (n) => 'const a=f(()=>{'.repeat(n / 15),
  'schemas inside each other': (n) => 'z.object({a:'.repeat(n / 12),
  'schemas in a line': (n) => 'const a = z.object({ b: z.string() });'.repeat(n / 38),
  'bodies that name schemas': (n) => `const a=z.object({});${'POST;A.f(x.json());'.repeat(n / 19)}`,
  'handlers': (n) => 'function POST(){a.json()}'.repeat(n / 25),
  'types inside each other': (n) => `x.json<${'{a:'.repeat(n / 3)}`,
  'types that double': (n) =>
    `x.json<A0>();${Array.from({ length: n / 22 }, (_, i) => `type A${i}=[A${i + 1},A${i + 1}]`).join(';')}`,
  'bodies of a type': (n) => 'x.json<{a:b}>();'.repeat(n / 16),
  'unions': (n) => `x.json<${'a|'.repeat(n / 2)}`,
  'a path of names': (n) => `x.json<${'a.'.repeat(n / 2)}`,
  'interfaces': (n) => `x.json<A>();interface A extends ${'B,'.repeat(n / 2)}`,
  'interfaces that extend each other': (n) => `x.json<A>();${'interface A extends A{a:A}'.repeat(n / 26)}`,
  'commas': (n) => `const {${','.repeat(n)}`,
  'declarations without a value': (n) => 'const a '.repeat(n / 8),
  'queries in a list': (n) => `[${"'a',".repeat(n / 4)}].map((a)=>query(a))`,
  'queries of a name': (n) => 'query(a)'.repeat(n / 8),
  'queries taken apart': (n) => '}=a.query()'.repeat(n / 11),
  'forms': (n) => 'const a = await b.formData(); a.get("c"); '.repeat(n / 43),
  'calls': (n) => 'Number(a.b.'.repeat(n / 11),
  'templates': (n) => `\`${'{{#each a}}{{a.b}}'.repeat(n / 18)}\``,
  'templates that go on': (n) => `\`${'{{#each '.repeat(n / 8)}`,
  'loops in a template': (n) => `'${'for (const aaaaa '.repeat(n / 17)}'`,
  'strings': (n) => "'".repeat(n),
  'escapes': (n) => `'${'\\'.repeat(n)}'`,
  'regular expressions': (n) => '/['.repeat(n / 2),
  'patterns': (n) => `z.object({a:z.string().regex(/${'a?'.repeat(n / 2)}/)}).parse(x.json())`,
  'signs': (n) => '>'.repeat(n),
  'routes': (n) => ".post('/".repeat(n / 8),
  'imports': (n) => "from 'markdown' ".repeat(n / 16),
  'a name': (n) => 'aB'.repeat(n / 2),
  'names': (n) => Array.from({ length: n / 6 }, (_, i) => `a${i}`).join(' '),
}

for (const [kind, make] of Object.entries(TEXTS)) {
  Deno.test(`findHints: ${kind}, in steps that grow as the text does`, async () => {
    const runs = [4000, 16_000].map((n) => {
      const text = make(n)
      return () => findHints(text)
    })
    // The first calls set up what later ones share.
    runs[0]()
    const [small, large] = await counter.count(runs)
    assert(large <= small * 5 + 20_000, `${small} steps became ${large}`)
  })
}

Deno.test('findHints looks at the start of a long text', async () => {
  const runs = [1 << 16, 1 << 18].map((n) => {
    const text = 'const a = { b: 1 }\n'.repeat(n / 19)
    return () => findHints(text)
  })
  runs[0]()
  const [small, large] = await counter.count(runs)
  assert(large <= small * 1.5 + 20_000, `${small} steps became ${large}`)
})
