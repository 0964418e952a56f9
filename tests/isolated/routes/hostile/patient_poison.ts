/** The deeds of poison.ts that end by themselves, with CPU time enough for a host that is busy. */
export { GET } from './poison.ts'

export const isolated = {
  timeoutMs: 60_000,
  cpuMs: 20_000,
  memoryMb: 64,
  outputBytes: 100_000,
  warmup: [{ path: '/patient_poison?what=nothing' }],
}
