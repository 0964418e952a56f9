/** The CPU time that a process may use from now on; checked when it could be used up at the earliest. Linux only: proc(5). */
export class CpuDeadline {
  readonly #pid: number
  readonly #end: number
  readonly #expire: () => void
  #timer: ReturnType<typeof setTimeout>

  constructor(pid: number, ms: number, expire: () => void) {
    this.#pid = pid
    this.#end = cpuMsOf(pid) + ms
    this.#expire = expire
    this.#timer = setTimeout(() => this.#look(), ms)
  }

  cancel(): void {
    clearTimeout(this.#timer)
  }

  #look(): void {
    const left = this.#end - cpuMsOf(this.#pid)
    if (left <= 0) this.#expire()
    else this.#timer = setTimeout(() => this.#look(), Math.max(left, TICK_MS))
  }
}

/** The unit of the kernel's count (USER_HZ is 100 on every architecture that Deno runs on). */
const TICK_MS = 10

/** Milliseconds of CPU that a process has had, all its threads together; 0 for one that has ended. */
function cpuMsOf(pid: number): number {
  let stat: string
  try {
    stat = Deno.readTextFileSync(`/proc/${pid}/stat`)
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0
    throw error
  }
  // The second field is the program's name in parentheses, which may hold anything.
  const [user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 13)
  return (Number(user) + Number(system)) * TICK_MS
}
