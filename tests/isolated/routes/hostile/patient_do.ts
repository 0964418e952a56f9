/** The attacks of do.ts that end by themselves, with CPU time enough for a host that is busy. */
export { GET } from './do.ts'

export const isolated = {
  timeoutMs: 60_000,
  cpuMs: 20_000,
  memoryMb: 64,
  outputBytes: 100_000,
  warmup: [{ path: '/patient_do?what=nothing' }],
}
