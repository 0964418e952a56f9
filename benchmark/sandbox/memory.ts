/** Resident memory of a process in bytes, by the kernel's books (proc_pid_status(5)). */
export async function residentBytes(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`)
  const line = /^VmRSS:\s*(\d+) kB$/m.exec(status)
  if (line === null) {
    throw new Error(`Cannot measure memory: process ${pid} has none, want a process that runs`)
  }
  return Number(line[1]) * 1024
}
