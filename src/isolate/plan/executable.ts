/** The Linux program that a route file names in place of handlers. */
import { dirname, join, resolve } from '@std/path'
import { ProgramError } from '../compile/compiler.ts'
import { containIn, refusalOf } from '../resolve/containment.ts'

/** A program as it was when it was read. */
export interface Executable {
  /** Absolute. */
  readonly path: string
  readonly code: Uint8Array<ArrayBuffer>
}

/** Bytes of a program at most. */
const MAX_EXECUTABLE = 256 << 20

/** What all programs begin with: ELF, 64 bits, little-endian. */
const MAGIC = [0x7f, 0x45, 0x4c, 0x46, 2, 1]
const MACHINE_AT = 18
const X86_64 = 62

/** Whether bytes begin as a Linux program for x86-64 does; the machine's loader checks the rest. */
export function isProgram(code: Uint8Array): boolean {
  return MAGIC.every((byte, at) => code[at] === byte) && code[MACHINE_AT] === X86_64
}

/**
 * Reads the program `name` of a route file, which must lie inside the project of `root`, as all that a bundle contains. Rejects with `ProgramError`.
 * Its bytes are what the machine gets: a build that writes to the file changes nothing of a program that runs.
 */
export async function readExecutable(
  { file, path }: { readonly file: string; readonly path: string },
  name: string,
  root: string,
): Promise<Executable> {
  const what = `Cannot load ${file}: its program '${join(dirname(file), name)}'`
  const wanted = resolve(dirname(path), name)
  try {
    const refusal = refusalOf(await containIn(root), wanted)
    if (refusal !== null) throw new ProgramError(`${what}: ${refusal}`, null)
    const { size } = await Deno.stat(wanted)
    if (size > MAX_EXECUTABLE) {
      throw new ProgramError(`${what} has ${size} bytes, want at most ${MAX_EXECUTABLE}`, null)
    }
    const code = await Deno.readFile(wanted)
    if (!isProgram(code)) {
      throw new ProgramError(`${what} is no program of Linux on x86-64, want an ELF file of that kind`, null)
    }
    return { path: wanted, code }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error
    throw new ProgramError(`${what} is not there, want an ELF file: compile it first`, null, { cause: error })
  }
}
