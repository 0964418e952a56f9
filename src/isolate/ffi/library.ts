/** The loaded library: opened, checked, and its calls' texts. */
import { toNativeError } from './errors.ts'
import { ClosedError } from '../machines/errors.ts'
import { describeAbi, hashAbi } from './layout.ts'
import { type NativeSymbols, OPENED } from './symbols.ts'

/** What this host can do: run machines on the CPU's virtualisation or on PVM, or why not. */
export type DoctorReport =
  | {
    readonly available: true
    readonly flavour: 'hardware' | 'pvm'
    /** How changed translations are flushed. */
    readonly flush: 'cr3' | 'notifier'
    /** Vector state of a thread. */
    readonly xsaveBytes: number
    /** Tells CPUs and kinds of KVM apart. */
    readonly host: string
  }
  | { readonly available: false; readonly reason: string; readonly hint: string }

const TEXT_BYTES = 4096
const decoder = new TextDecoder()

/** A loaded library. Close it when its programs and pools are closed. */
export class NativeLibrary {
  readonly path: string
  readonly version: string
  #library: Deno.DynamicLibrary<typeof OPENED> | null

  private constructor(path: string, library: Deno.DynamicLibrary<typeof OPENED>) {
    this.path = path
    this.#library = library
    const hash = library.symbols.mayfly_abi_hash()
    this.version = this.readText((text, capacity) => library.symbols.mayfly_version(text, capacity))
    const wanted = hashAbi(describeAbi())
    if (hash !== wanted) {
      throw new TypeError(
        `Cannot use ${path}: its ABI is ${hash.toString(16)} of version ${this.version}, want ${
          wanted.toString(16)
        }; build it from the sources beside this file`,
      )
    }
  }

  /** Loads a library and checks that it was built from this table. Throws `TypeError` when not, `Error` when it does not load. */
  static open(path: string): NativeLibrary {
    const library = Deno.dlopen(path, OPENED)
    try {
      return new NativeLibrary(path, library)
    } catch (error) {
      library.close()
      throw error
    }
  }

  /** The native functions. Throws `ClosedError` after {@link close}. */
  get symbols(): NativeSymbols {
    if (this.#library === null) throw new ClosedError('native library')
    return this.#library.symbols
  }

  /** Probes the host, on a thread of its own: it takes some milliseconds. Rejects with `ClosedError` after {@link close}; not to be closed meanwhile. */
  async doctor(): Promise<DoctorReport> {
    const { mayfly_doctor } = this.symbols
    for (let capacity = TEXT_BYTES;;) {
      const text = new Uint8Array(capacity)
      const length = this.check(await mayfly_doctor(text, capacity))
      if (length <= capacity) return JSON.parse(decoder.decode(text.subarray(0, length)))
      capacity = length
    }
  }

  /** Makes a folder for snapshots. Throws `NativeError` for one in which somebody else could put or change files. */
  openCache(folder: string): void {
    const bytes = new TextEncoder().encode(folder)
    this.check(this.symbols.mayfly_cache_open(bytes, bytes.length))
  }

  /** The number that a call gave, or its status as an error with the words of this thread's last failure. */
  check(result: number): number {
    if (result >= 0) return result
    const { mayfly_last_error } = this.symbols
    const buffer = new Uint8Array(TEXT_BYTES)
    const length = mayfly_last_error(buffer, buffer.length)
    throw toNativeError(result, decoder.decode(buffer.subarray(0, Math.max(0, length))))
  }

  /** All the bytes of a call that copies as many as fit and returns how many there are. */
  readBytes(
    call: (bytes: Uint8Array<ArrayBuffer>, capacity: number) => number,
    room = TEXT_BYTES,
  ): Uint8Array<ArrayBuffer> {
    for (let capacity = room;;) {
      const bytes = new Uint8Array(capacity)
      const length = this.check(call(bytes, capacity))
      if (length <= capacity) return bytes.subarray(0, length)
      capacity = length
    }
  }

  /** As {@link readBytes}, for text. */
  readText(call: (bytes: Uint8Array<ArrayBuffer>, capacity: number) => number): string {
    return decoder.decode(this.readBytes(call))
  }

  /** Gives the library back. A second time does nothing. */
  close(): void {
    this.#library?.close()
    this.#library = null
  }

  [Symbol.dispose](): void {
    this.close()
  }
}
