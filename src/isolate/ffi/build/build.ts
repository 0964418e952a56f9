/** The library's file, built when there is none that fits the sources. */
import { type Artifact, buildArtifact, type BuildOptions, keptFolder } from './cargo_build.ts'

export { type BuildOptions } from './cargo_build.ts'

/** The crates of the library, folders of the workspace; a test compares them with the manifests. */
export const CRATES = ['abi', 'ffi', 'guard', 'linux', 'pool', 'vmm', 'wire'] as const

export const LIBRARY: Artifact = {
  what: 'the virtual machines',
  takes: 'a minute or two',
  name: ['libmayfly-', '.so'],
  workspace: '',
  sources: [
    'Cargo.lock',
    'Cargo.toml',
    ...CRATES.flatMap((crate) => [`${crate}/Cargo.toml`, `${crate}/src/`, `${crate}/build.rs?`]),
  ],
  args: ['--package', 'mayfly-ffi'],
  output: 'release/libmayfly_ffi.so',
}

/** The path of a library that fits the sources; builds it if need be. Rejects with `NativeBuildError`. */
export function buildLibrary(options: BuildOptions = {}): Promise<string> {
  return buildArtifact(LIBRARY, options)
}

/** The folder of the library's file. */
export function libraryFolder(): string {
  return keptFolder(LIBRARY)
}
