/** Where numbers come from. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly system: string
  readonly deno: string
  readonly v8: string
}

/** Describes this machine. */
export function describeMachine(): Machine {
  return {
    cpu: cpuModel(),
    cores: navigator.hardwareConcurrency,
    memoryGiB: Math.round(Deno.systemMemoryInfo().total / 2 ** 30),
    system: `${Deno.build.os} ${Deno.osRelease()} ${Deno.build.arch}`,
    deno: Deno.version.deno,
    v8: Deno.version.v8,
  }
}

function cpuModel(): string {
  if (Deno.build.os !== 'linux') return Deno.build.arch
  const line = /^model name\s*:\s*(.+)$/m.exec(Deno.readTextFileSync('/proc/cpuinfo'))
  return line === null ? Deno.build.arch : line[1]
}
