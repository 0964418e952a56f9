import { assertEquals } from '@std/assert'
import { toFailureLine } from '../../src/app/isolated/failure_line.ts'
import { ProgramError } from '../../src/isolate/compile/compiler.ts'
import { HttpError } from '../../mod.ts'

Deno.test('the line of a program that does not load names its file, and the place of what its modules threw', () => {
  const thrown = new TypeError('x is undefined')
  thrown.stack =
    'TypeError: x is undefined\n    at file:///site/lib/b.ts:2:3\n    at file:///site/routes/a.ts:1:1'
  const file = '/site/routes/a.ts'
  const line = (error: Error) => toFailureLine(file, error, '/site')
  assertEquals(line(thrown), 'Cannot load /site/routes/a.ts: TypeError: x is undefined (lib/b.ts:2:3)')
  const place = { file, line: 1, column: 8 }
  assertEquals(line(new ProgramError('bundle: no', place)), 'bundle: no (/site/routes/a.ts:1:8)')
  assertEquals(line(new HttpError(503, 'cannot run here')), 'cannot run here')
})
