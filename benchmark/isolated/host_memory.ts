/** Memory by the kernel's own books, in KiB (proc_pid_smaps_rollup(5), proc_pid_status(5), proc_meminfo(5)). */
export interface HostMemory {
  /** Pages of this process that no other has, those of its JavaScript heap left out. */
  readonly ownKib: number
  /** This process's page tables. */
  readonly tablesKib: number
  /** KVM's tables, of all processes. */
  readonly kvmTablesKib: number
  /** What new processes could have without swapping. */
  readonly availableKib: number
}

/** Reads the books; a line that this kernel does not have counts 0. */
export function readHostMemory(): HostMemory {
  const rollup = Deno.readTextFileSync('/proc/self/smaps_rollup')
  const meminfo = Deno.readTextFileSync('/proc/meminfo')
  return {
    ownKib: line(rollup, 'Private_Dirty') + line(rollup, 'Private_Clean') -
      Deno.memoryUsage().heapTotal / 1024,
    tablesKib: line(Deno.readTextFileSync('/proc/self/status'), 'VmPTE'),
    kvmTablesKib: line(meminfo, 'SecPageTables'),
    availableKib: line(meminfo, 'MemAvailable'),
  }
}

function line(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0)
}
