/**
 * Snapshots on disk, from which a server that starts again goes on: nothing boots, and nothing is warmed up again.
 *
 * ```text
 * base     its arguments, environment, limits and files; the runtime's version; the host's CPU and KVM  -> name of its file
 *   ^ lies over
 * program  its base's name, its hash, limits, files and warm-up                                         -> name of its file
 * ```
 * What else a file depends on is inside of it, and the native library refuses it where that differs: the library's build, the files that
 * the program has of the host, the base's file. A file that is refused is made anew.
 */
import { resolve } from '@std/path'
import { toPrintable } from '../../errors/printable.ts'
import { hexDigest } from '../../context/hex_digest.ts'
import { cacheFile } from '../bundle/cache_file.ts'
import { NativeError } from '../ffi/errors.ts'
import type { NativeLibrary } from '../ffi/library.ts'
import { NativeProgram } from '../ffi/native_program.ts'
import { digestKey } from '../ffi/share_key.ts'
import { ClosedError } from '../machines/errors.ts'
import type { SnapshotFolder } from '../machines/machines.ts'

const NO_NOTES = new Uint8Array(0)

/** The snapshots of one folder. */
export class SnapshotCache {
  readonly #library: NativeLibrary
  /** Absolute path. */
  readonly folder: string
  readonly #mostMb: number
  /** What every snapshot depends on. */
  readonly #host: string
  readonly #saves = new Set<Promise<void>>()

  private constructor(library: NativeLibrary, folder: string, mostMb: number, host: string) {
    this.#library = library
    this.folder = folder
    this.#mostMb = mostMb
    this.#host = host
  }

  /**
   * The cache in a folder, which is made if need be; `host` tells CPUs and kinds of KVM apart. Null where the folder is of no use, as it is
   * another user's say: standard error has the reason, and nothing is kept.
   */
  static open(
    library: NativeLibrary,
    { dir, mostMb }: SnapshotFolder,
    host: string,
  ): SnapshotCache | null {
    const folder = resolve(dir)
    try {
      library.openCache(folder)
    } catch (error) {
      console.error(`mayfly: isolate.cacheDir is not used, every start boots: ${(error as Error).message}`)
      return null
    }
    return new SnapshotCache(library, folder, mostMb, host)
  }

  /** The name of what follows from all of `parts`. */
  async name(parts: readonly (string | Uint8Array)[]): Promise<string> {
    const versions = JSON.stringify([this.#library.version, Deno.version])
    const key = await digestKey(this.#host, [versions, ...parts])
    return await hexDigest(key)
  }

  /**
   * The snapshot of a name, over `base` if it lies over one; `shared` is as for `NativeProgram.open`. Null where there is none, and where
   * it is refused, which `onRefused` hears.
   */
  async open(
    name: string,
    base: NativeProgram | null,
    shared: string,
    onRefused: (reason: string) => void,
  ): Promise<NativeProgram | null> {
    try {
      const spec = { stored: this.#path(name), base: base?.handle ?? 0 }
      return await NativeProgram.open(this.#library, spec, shared)
    } catch (error) {
      if (error instanceof ClosedError) throw error
      if (!(error instanceof NativeError && error.status === 'missing')) {
        onRefused(toPrintable((error as Error).message))
      }
      return null
    }
  }

  /** Keeps a snapshot, with `notes`, in the place of what has its name; `base` has its own file, or is null. Never rejects. */
  save(
    name: string,
    native: NativeProgram,
    base: NativeProgram | null = null,
    notes: Uint8Array<ArrayBuffer> = NO_NOTES,
  ): Promise<void> {
    const path = this.#path(name)
    const saved = native.save({ path, notes, mostMb: this.#mostMb }, base)
      // One that was closed meanwhile is not wanted any more.
      .catch((error) => {
        if (error instanceof ClosedError) return
        console.error(`mayfly: a snapshot is not kept: ${toPrintable((error as Error).message)}`)
      })
      .finally(() => this.#saves.delete(saved))
    this.#saves.add(saved)
    return saved
  }

  /** Resolves when nothing is written any more. */
  async close(): Promise<void> {
    await Promise.all(this.#saves)
  }

  #path(name: string): string {
    return cacheFile(this.folder, name)
  }
}
