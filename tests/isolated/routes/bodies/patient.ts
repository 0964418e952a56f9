/** The same with time enough for many at once on a machine that is busy. */
export { POST } from './do.ts'

export const isolated = {
  warmup: [{ path: '/patient?what=sum', method: 'POST', body: 'some' }],
  timeoutMs: 30_000,
  memoryMb: 48,
}
