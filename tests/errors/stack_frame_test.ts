import { assertEquals } from '@std/assert'
import { parseStackFrame } from '../../src/errors/stack_frame.ts'

const FRAMES: readonly [text: string, url: string][] = [
  ['    at f (file:///a.ts:3:14)', 'file:///a.ts'],
  ['    at file:///a.ts:3:14', 'file:///a.ts'],
  ['    at async file:///a.ts:3:14', 'file:///a.ts'],
  ['    at async Object.GET [as x] (file:///a.ts:3:14)', 'file:///a.ts'],
  ['    at new A (file:///routes/(group)/a.ts:3:14)', 'file:///routes/(group)/a.ts'],
  ['    at f (https://x.dev:8000/a.ts?v=1:3:14)', 'https://x.dev:8000/a.ts?v=1'],
  ['\tat f (program.js:3:14)', 'program.js'],
]

for (const [text, url] of FRAMES) {
  Deno.test(`parseStackFrame of ${JSON.stringify(text)}`, () => {
    const frame = parseStackFrame(text)!
    assertEquals([frame.url, frame.line, frame.column], [url, 3, 14])
    assertEquals(`${frame.before}${frame.url}:${frame.line}:${frame.column}${frame.after}`, text)
  })
}

const OTHERS = [
  '',
  '    at ',
  'at f (file:///a.ts:1:2)',
  '    at f (native)',
  '    at new Promise (<anonymous>)',
  '    at f (file:///a.ts:1)',
  '    at f (:1:2)',
  '    at f (file:///a.ts:1:2',
  '    at f file:///a.ts:1:2)',
  '    at eval (eval at f (file:///a.ts:1:2), <anonymous>:1:2)',
  '    at f (file:///a.ts:1:12345678901)',
  '    at f (file:///a.ts:x:2)',
  'Error: at file:///a.ts:1:2',
]

for (const text of OTHERS) {
  Deno.test(`parseStackFrame takes ${JSON.stringify(text)} for no frame`, () => {
    assertEquals(parseStackFrame(text), undefined)
  })
}
