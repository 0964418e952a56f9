import { assertEquals } from '@std/assert'
import { isWarm } from '../../src/isolate/machines/trial.ts'

Deno.test('isWarm forgives a fork its fixed cost and half as much again, and no compilation', () => {
  const cases: [warmUs: number, runUs: number, warm: boolean][] = [
    [40, 45, true],
    [40, 119, true],
    [40, 121, false],
    [10_000, 14_000, true],
    [10_000, 16_000, false],
  ]
  for (const [warmUs, runUs, warm] of cases) {
    assertEquals(isWarm({ warmUs, runUs }), warm, `${warmUs} ${runUs}`)
  }
})
