/** What the core runtime consists of. */
import { traceLayout } from './core_layout.ts'
import { bundleSurface } from '../core/core_surface.ts'
import { buildCoreGuest } from '../ffi/build/core_build.ts'
import type { MachinesOptions } from '../machines/machines.ts'

/** The files of the core runtime. */
export interface CoreFiles {
  /** Path of its binary on the host. */
  readonly binary: string
  /** The script that makes the Web's interfaces. */
  readonly surface: Uint8Array<ArrayBuffer>
  /** Which blocks of its heap requests write to. */
  readonly layout: Uint8Array<ArrayBuffer>
}

/**
 * The core runtime, built if need be. Rejects with `IsolationUnavailableError` or `NativeBuildError` where it cannot be; both say what
 * to do.
 */
export async function openCore(
  { onBuild, signal }: Pick<MachinesOptions, 'onBuild' | 'signal'>,
): Promise<CoreFiles> {
  const [binary, surface] = await Promise.all([buildCoreGuest({ onBuild, signal }), bundleSurface()])
  return { binary, surface, layout: await traceLayout(binary, surface) }
}
