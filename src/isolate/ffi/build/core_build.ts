/** The small guest's file, built when there is none that fits the sources. */
import { join } from '@std/path'
import { type Artifact, buildArtifact, type BuildOptions } from './cargo_build.ts'
import { IsolationUnavailableError } from '../../machines/errors.ts'

/** What WAMR's sources, which the engine's crate compiles, are built with; each is looked for by a file. */
const TOOLS = [
  { name: 'cmake', files: ['cmake'] },
  { name: 'make', files: ['make', 'gmake', 'ninja'] },
  { name: 'a C compiler', files: ['cc', 'gcc', 'clang'] },
] as const
const SIMDE = '/usr/include/simde/simde-common.h'
const INSTALL = 'Debian: apt install cmake make gcc libc6-dev libsimde-dev'

export const CORE_GUEST: Artifact = {
  what: 'the small guest',
  takes: 'some minutes',
  name: ['guest-core-', ''],
  workspace: 'guest-core',
  sources: [
    'guest-core/Cargo.lock',
    'guest-core/Cargo.toml',
    'guest-core/.cargo/config.toml',
    'guest-core/simde.cmake',
    'guest-core/build.rs?',
    'guest-core/src/',
    'wire/Cargo.toml',
    'wire/src/',
  ],
  args: ['--bin', 'guest-core'],
  env: (folder) => ({ CMAKE_TOOLCHAIN_FILE: join(folder, 'guest-core', 'simde.cmake') }),
  output: 'x86_64-unknown-linux-gnu/release/guest-core',
  check: () => checkTools(),
}

/**
 * The path of a guest that fits the sources; builds it if need be. Rejects with `NativeBuildError`, and with
 * `IsolationUnavailableError` where something is missing that it is built with.
 */
export function buildCoreGuest(options: BuildOptions = {}): Promise<string> {
  return buildArtifact(CORE_GUEST, options)
}

/** Rejects with `IsolationUnavailableError` unless everything is there. */
export async function checkTools(
  readPath: () => string | undefined = () => Deno.env.get('PATH'),
  header = SIMDE,
): Promise<void> {
  const folders = (readPath() ?? '').split(':').filter((folder) => folder.startsWith('/'))
  const missing: string[] = []
  for (const { name, files } of TOOLS) {
    const paths = folders.flatMap((folder) => files.map((file) => join(folder, file)))
    if (!await isAnyThere(paths)) missing.push(name)
  }
  if (!await isAnyThere([header])) missing.push(header)
  if (missing.length === 0) return
  throw new IsolationUnavailableError(
    `Cannot build the small guest of runtime 'core': ${
      missing.join(', ')
    } missing, want what it is built with (${INSTALL}), or runtime: 'deno'`,
  )
}

async function isAnyThere(paths: readonly string[]): Promise<boolean> {
  for (const path of paths) {
    try {
      if ((await Deno.stat(path)).isFile) return true
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound) && !(error instanceof Deno.errors.PermissionDenied)) {
        throw error
      }
    }
  }
  return false
}
