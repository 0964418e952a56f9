import { libraryFolder } from './build/build.ts'
import { IsolationUnavailableError } from '../machines/errors.ts'

/**
 * Throws `IsolationUnavailableError` where the native library could be built and not be loaded, so that nobody waits for its build. Where
 * somebody sits at a terminal, Deno asks.
 */
export function checkFfiPermission(): void {
  const folder = libraryFolder()
  const { state } = Deno.permissions.querySync({ name: 'ffi', path: folder })
  if (state === 'granted' || (state === 'prompt' && Deno.stdin.isTerminal())) return
  throw new IsolationUnavailableError(
    `the native library may not be loaded: run again with the --allow-ffi flag (--allow-ffi=${folder}, or -A)`,
  )
}
