/**
 * The library's file: found by a hash of the Rust sources in its name, built when there is none of that name. So a library is
 * never older than its sources, and one that is in use is never written to.
 */
import { fromFileUrl, join } from '@std/path'

/** The library could not be built; the message says what to do. `output` ends with cargo's last words. */
export class NativeBuildError extends Error {
  override readonly name = 'NativeBuildError'
  readonly output: string

  constructor(message: string, output = '', options?: ErrorOptions) {
    super(output === '' ? message : `${message}\n${output}`, options)
    this.output = output
  }
}

/** Where and how {@link buildLibrary} builds. */
export interface BuildOptions {
  /** The Cargo workspace; default that of this checkout. */
  readonly folder?: string
  /** Default: the variable CARGO_TARGET_DIR, or `target` in the workspace. */
  readonly targetFolder?: string
  /** The cargo binary; default `cargo`. */
  readonly cargo?: string
  /** Told each line of cargo's progress; default writes it to the standard error. */
  readonly progress?: (line: string) => void
}

/** The crates of the library, folders of the workspace; a test compares them with the manifests. */
export const CRATES = ['ffi', 'linux', 'pool', 'vmm', 'wire'] as const

const CRATE = 'mayfly-ffi'
const FILE = 'libmayfly_ffi.so'
const BUILD_MS = 20 * 60_000
const LAST_LINES = 30

/** The path of a library that fits the sources; builds it if need be. Rejects with {@link NativeBuildError}. */
export async function buildLibrary(options: BuildOptions = {}): Promise<string> {
  const folder = options.folder ?? nativeFolder()
  const release = join(targetFolder(folder, options.targetFolder), 'release')
  const kept = join(release, 'mayfly')
  const name = `libmayfly-${(await hashSources(folder)).slice(0, 16)}.so`
  const path = join(kept, name)
  if (await isFile(path)) return path
  const progress = options.progress ?? ((line) => console.error(line))
  progress('Building the virtual machines (cargo build --release), once for these sources')
  await runCargo(options.cargo ?? 'cargo', folder, options.targetFolder, progress)
  await Deno.mkdir(kept, { recursive: true })
  const draft = join(kept, `${crypto.randomUUID()}.draft`)
  try {
    await Deno.copyFile(join(release, FILE), draft)
    await Deno.rename(draft, path)
  } catch (error) {
    await Deno.remove(draft).catch(() => {})
    throw new NativeBuildError(`Cannot keep the library ${path}: want a folder that can be written`, '', {
      cause: error,
    })
  }
  await removeOld(kept, name)
  return path
}

/** SHA-256 of all that the library is made of, as hex digits. */
export async function hashSources(folder: string): Promise<string> {
  const paths = ['Cargo.lock', 'Cargo.toml']
  for (const crate of CRATES) {
    paths.push(join(crate, 'Cargo.toml'), ...await listFiles(folder, join(crate, 'src')))
    if (await isFile(join(folder, crate, 'build.rs'))) paths.push(join(crate, 'build.rs'))
  }
  const lines: string[] = []
  for (const path of paths.sort()) {
    lines.push(`${path} ${await digest(await readSource(join(folder, path)))}\n`)
  }
  return await digest(new TextEncoder().encode(lines.join('')))
}

function nativeFolder(): string {
  const url = new URL('../../../native', import.meta.url)
  if (url.protocol === 'file:') return fromFileUrl(url)
  throw new NativeBuildError(
    `Cannot build the virtual machines: their sources are at ${url}, want a checkout of Mayfly on this disk`,
  )
}

function targetFolder(folder: string, given: string | undefined): string {
  const target = given ?? Deno.env.get('CARGO_TARGET_DIR')
  if (target === undefined || target === '') return join(folder, 'target')
  return target.startsWith('/') ? target : join(folder, target)
}

async function runCargo(
  cargo: string,
  folder: string,
  target: string | undefined,
  progress: (line: string) => void,
): Promise<void> {
  const child = spawnCargo(cargo, folder, target)
  let ended = false
  const deadline = setTimeout(() => child.kill('SIGTERM'), BUILD_MS)
  try {
    const last: string[] = []
    let rest = ''
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        progress(line)
        last.push(line)
        if (last.length > LAST_LINES) last.shift()
      }
    }
    const { success, code, signal } = await child.status
    ended = true
    if (success) return
    throw toBuildError(signal ?? `exit code ${code}`, [...last, rest].join('\n').trimEnd())
  } finally {
    clearTimeout(deadline)
    if (!ended) child.kill('SIGTERM')
  }
}

function spawnCargo(cargo: string, folder: string, target: string | undefined): Deno.ChildProcess {
  try {
    return new Deno.Command(cargo, {
      args: ['build', '--release', '--locked', '--package', CRATE],
      cwd: folder,
      env: { CARGO_TERM_COLOR: 'never', ...(target === undefined ? {} : { CARGO_TARGET_DIR: target }) },
      stdin: 'null',
      stdout: 'null',
      stderr: 'piped',
    }).spawn()
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error
    throw new NativeBuildError(
      'Cannot build the virtual machines: no cargo in PATH; install Rust 1.95 or later (rustup) and a C linker (Debian: apt install gcc libc6-dev)',
      '',
      { cause: error },
    )
  }
}

/** The error of a cargo that failed, with the mend of what people meet most. */
function toBuildError(how: string, output: string): NativeBuildError {
  const mend = /linker `[^`]+` not found/.test(output)
    ? 'install a C linker (Debian: apt install gcc libc6-dev)'
    : /requires rustc|is not supported by the following package|edition2024/.test(output)
    ? 'update Rust to 1.95 or later (rustup update)'
    : /failed to (?:download|fetch|get)|Could not resolve host|network/.test(output)
    ? 'cargo needs its registry once, or a filled cache'
    : 'its last words follow'
  return new NativeBuildError(`Cannot build the virtual machines: cargo ended with ${how}; ${mend}`, output)
}

/** Libraries of other sources; a process that has one loaded keeps it. */
async function removeOld(folder: string, kept: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    if (/^libmayfly-[0-9a-f]{16}\.so$/.test(name) && name !== kept) {
      await Deno.remove(join(folder, name)).catch(() => {})
    }
  }
}

async function listFiles(root: string, folder: string): Promise<string[]> {
  const found: string[] = []
  try {
    for await (const entry of Deno.readDir(join(root, folder))) {
      const path = join(folder, entry.name)
      if (entry.isDirectory) found.push(...await listFiles(root, path))
      else if (entry.isFile) found.push(path)
    }
  } catch (error) {
    throw missing(join(root, folder), error)
  }
  return found
}

async function readSource(path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await Deno.readFile(path)
  } catch (error) {
    throw missing(path, error)
  }
}

function missing(path: string, cause: unknown): unknown {
  if (!(cause instanceof Deno.errors.NotFound)) return cause
  return new NativeBuildError(
    `Cannot build the virtual machines: ${path} is not there, want the sources of Mayfly`,
    '',
    { cause },
  )
}

async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex()
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false
    throw error
  }
}
