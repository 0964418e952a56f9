/** Names of the files in `isolate.cacheDir`, as `native/ffi/src/cache.rs` knows them when it bounds the folder. */
import { join } from '@std/path'

/** The path of a file, by its name. */
export function cacheFile(folder: string, name: string): string {
  return join(folder, `${name}.mayfly`)
}
