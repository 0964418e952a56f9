/** What a process and its machines take, by the kernel's books (proc_pid_status(5), proc_meminfo(5), proc_pid_fd(5)). */

/** What all programs of a run may take, the memory of their process included. */
export const LIMIT_BYTES = 2.5 * (1 << 30)
/** Growth from the second point to the last that counts as none: allocators breathe. */
export const BREATH_BYTES = 48 << 20

/** Memory in bytes. */
export interface ProgramsMemory {
  /** Everything: the process's own pages and page tables, the snapshots, KVM's tables. */
  readonly bytes: number
  /** Of it, the snapshots' files: bases and what programs differ in. */
  readonly snapshotBytes: number
  /** What the whole machine has left; other work on it disturbs this. */
  readonly availableBytes: number
}

/** Reads the books of a process; a line that this kernel does not have counts 0. */
export async function measureMemory(pid: number | 'self' = 'self'): Promise<ProgramsMemory> {
  const [status, system] = await Promise.all([
    Deno.readTextFile(`/proc/${pid}/status`),
    Deno.readTextFile('/proc/meminfo'),
  ])
  const snapshotBytes = await snapshotMemory(pid)
  return {
    bytes: line(status, 'RssAnon') + line(status, 'VmPTE') + line(system, 'SecPageTables') + snapshotBytes,
    snapshotBytes,
    availableBytes: line(system, 'MemAvailable'),
  }
}

/** Whether memory stayed as it was at the second of `points`, and whether it was within the limit all the time. */
export function judgeMemory(
  idle: ProgramsMemory,
  points: readonly ProgramsMemory[],
): { constant: boolean; within: boolean } {
  const most = Math.max(idle.bytes, ...points.map(({ bytes }) => bytes))
  return {
    constant: points.at(-1)!.bytes - points[1].bytes <= BREATH_BYTES,
    within: most <= LIMIT_BYTES,
  }
}

/** Pages of all memory files that the process has open. */
async function snapshotMemory(pid: number | 'self'): Promise<number> {
  const files = new Map<number, number>()
  for await (const { name } of Deno.readDir(`/proc/${pid}/fd`)) {
    const path = `/proc/${pid}/fd/${name}`
    try {
      if (!(await Deno.readLink(path)).startsWith('/memfd:')) continue
      const { ino, blocks } = await Deno.stat(path)
      files.set(ino ?? 0, (blocks ?? 0) * 512)
    } catch (error) {
      // The descriptor of this very listing is gone by now.
      if (!(error instanceof Deno.errors.NotFound)) throw error
    }
  }
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0)
}

function line(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) * 1024
}
