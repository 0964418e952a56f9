/** Measuring without a server. */

/** Nanoseconds of one call of `work`, the least of `rounds` rounds of `calls` calls: what the machine can do undisturbed. */
export function nanosPerCall(work: (i: number) => void, calls: number, rounds = 15): number {
  let best = Infinity
  for (let round = 0; round < rounds; round++) {
    const start = performance.now()
    for (let i = 0; i < calls; i++) work(i)
    best = Math.min(best, performance.now() - start)
  }
  return best * 1e6 / calls
}

/** Bytes in use after the collector has run, when the process has `--expose-gc`: resident, heap and outside the heap. */
export function memoryAfterCollection(): Deno.MemoryUsage {
  ;(globalThis as { gc?: () => void }).gc?.()
  return Deno.memoryUsage()
}

/** Bytes as MiB with one digit. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}

/** Runs `module` of this folder in a process of its own with `--expose-gc`, and passes its output on. */
export async function runAlone(module: string, args: readonly string[] = []): Promise<void> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ['run', '-A', '--no-prompt', '--no-check', '--v8-flags=--expose-gc', module, ...args],
    stdin: 'null',
    stdout: 'inherit',
    stderr: 'inherit',
  }).output()
  if (code !== 0) throw new Error(`Cannot measure ${module}: it ended with code ${code}`)
}
