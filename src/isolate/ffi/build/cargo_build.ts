/**
 * What cargo builds, kept by a hash of its sources in the name of its file: it is built when there is none of that name. So a file
 * is never older than its sources, and one that is in use is never written to.
 */
import { fromFileUrl, join } from '@std/path'
import { NativeBuildError } from '../../machines/errors.ts'
import { isFile } from '../../resolve/files.ts'
import { BuildProgress, type ProgressSink } from './build_progress.ts'
import { hashKept, type Sources } from './source_hash.ts'
import { type Cargo, findCargo, ToolchainError } from './toolchain.ts'

/** Where and how {@link buildArtifact} builds. */
export interface BuildOptions {
  /** The folder `native`; default that of this checkout. */
  readonly folder?: string | undefined
  /** Default: the variable CARGO_TARGET_DIR, or `target` in the workspace. */
  readonly targetFolder?: string | undefined
  /** The cargo to call; default what {@link findCargo} finds. */
  readonly cargo?: Pick<Cargo, 'command' | 'env'> | undefined
  /** Where the progress is shown; default the standard error. */
  readonly sink?: ProgressSink | undefined
  /** Called when something has to be built. */
  readonly onBuild?: (() => void) | undefined
  /** Gives the build up. */
  readonly signal?: AbortSignal | undefined
}

/** One file that cargo makes. */
export interface Artifact extends Sources {
  /** How long its build takes, for people. */
  readonly takes: string
  /** The kept file's name around the hash. */
  readonly name: readonly [before: string, after: string]
  /** The Cargo workspace, below `native`. */
  readonly workspace: string
  /** Arguments of `cargo build` beside `--release --locked`. */
  readonly args: readonly string[]
  /** Variables of the build, by the folder `native`. */
  readonly env?: (folder: string) => Readonly<Record<string, string>>
  /** What cargo makes, below its target folder. */
  readonly output: string
  /** What has to be there beside cargo; rejects with what to do. */
  readonly check?: () => Promise<void>
}

const BUILD_MS = 20 * 60_000
const LAST_LINES = 30

/** The path of a file that fits the sources; builds it if need be. Rejects with {@link NativeBuildError}, or as `check` does. */
export async function buildArtifact(artifact: Artifact, options: BuildOptions = {}): Promise<string> {
  const folder = options.folder ?? nativeFolder(artifact)
  const target = targetFolder(join(folder, artifact.workspace), options.targetFolder)
  const kept = keptFolder(artifact, options)
  const [before, after] = artifact.name
  const hash = await hashKept(artifact, folder, kept)
  const name = `${before}${hash.slice(0, 16)}${after}`
  const path = join(kept, name)
  if (isFile(path)) return path
  const cargo = options.cargo ?? await findCargo().catch((error) => refuse(artifact, error))
  await artifact.check?.()
  options.onBuild?.()
  const progress = new BuildProgress(artifact.what, artifact.takes, options.sink)
  let how = 'failed after'
  try {
    await runCargo(artifact, cargo, folder, options, progress)
    how = 'took'
  } finally {
    progress.done(options.signal?.aborted ? 'given up after' : how)
  }
  await Deno.mkdir(kept, { recursive: true })
  const draft = join(kept, `${crypto.randomUUID()}.draft`)
  try {
    await Deno.copyFile(join(target, artifact.output), draft)
    await Deno.rename(draft, path)
  } catch (error) {
    await Deno.remove(draft).catch(() => {})
    throw new NativeBuildError(`Cannot keep ${path}: want a folder that can be written`, '', { cause: error })
  }
  await removeOld(kept, artifact, name)
  return path
}

/** The folder where what was built is kept. */
export function keptFolder(artifact: Artifact, options: BuildOptions = {}): string {
  const folder = options.folder ?? nativeFolder(artifact)
  return join(targetFolder(join(folder, artifact.workspace), options.targetFolder), 'release', 'mayfly')
}

function nativeFolder({ what }: Artifact): string {
  const url = new URL('../../../../native', import.meta.url)
  if (url.protocol === 'file:') return fromFileUrl(url)
  throw new NativeBuildError(
    `Cannot build ${what}: the sources are at ${url}, want a checkout of Mayfly on this disk`,
  )
}

function targetFolder(folder: string, given: string | undefined): string {
  const target = given ?? Deno.env.get('CARGO_TARGET_DIR')
  if (target === undefined || target === '') return join(folder, 'target')
  return target.startsWith('/') ? target : join(folder, target)
}

function refuse({ what }: Artifact, error: unknown): never {
  if (!(error instanceof ToolchainError)) throw error
  throw new NativeBuildError(`Cannot build ${what}: ${error.message}`, '', { cause: error })
}

async function runCargo(
  artifact: Artifact,
  cargo: Pick<Cargo, 'command' | 'env'>,
  folder: string,
  { targetFolder: target, signal }: BuildOptions,
  progress: BuildProgress,
): Promise<void> {
  signal?.throwIfAborted()
  const child = spawnCargo(artifact, cargo, folder, target)
  let ended = false
  const stop = () => {
    try {
      if (!ended) child.kill('SIGTERM')
    } catch (error) {
      // It ended just now.
      if (!(error instanceof TypeError)) throw error
    }
  }
  const deadline = setTimeout(stop, BUILD_MS)
  signal?.addEventListener('abort', stop)
  try {
    const last: string[] = []
    let rest = ''
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      // Cargo writes its bar again and again, each time from the beginning of the line.
      const lines = (rest + chunk).split(/[\r\n]/)
      rest = lines.pop() ?? ''
      for (const line of lines) {
        progress.line(line)
        if (line.trim() === '' || BAR_LINE.test(line)) continue
        last.push(line)
        if (last.length > LAST_LINES) last.shift()
      }
    }
    const { success, code, signal: killer } = await child.status
    ended = true
    if (success) return
    // A user who ended it, by the terminal say, needs no report.
    if (killer !== null) {
      throw new NativeBuildError(`Cannot build ${artifact.what}: cargo was ended by ${killer}`)
    }
    throw toBuildError(artifact, `exit code ${code}`, [...last, rest].join('\n').trimEnd())
  } finally {
    clearTimeout(deadline)
    signal?.removeEventListener('abort', stop)
    stop()
  }
}

const BAR_LINE = /^\s*(?:Building|Downloading) /

function spawnCargo(
  artifact: Artifact,
  { command, env }: Pick<Cargo, 'command' | 'env'>,
  folder: string,
  target: string | undefined,
): Deno.ChildProcess {
  return new Deno.Command(command, {
    args: ['build', '--release', '--locked', ...artifact.args],
    cwd: join(folder, artifact.workspace),
    env: {
      ...env,
      ...artifact.env?.(folder),
      CARGO_TERM_COLOR: 'never',
      CARGO_TERM_PROGRESS_WHEN: 'always',
      CARGO_TERM_PROGRESS_WIDTH: '80',
      ...(target === undefined ? {} : { CARGO_TARGET_DIR: target }),
    },
    stdin: 'null',
    stdout: 'null',
    stderr: 'piped',
  }).spawn()
}

/** The error of a cargo that failed, with the remedy for the most frequent causes. */
function toBuildError({ what }: Artifact, how: string, output: string): NativeBuildError {
  const hint = /linker `[^`]+` not found/.test(output)
    ? 'install a C linker (Debian: apt install gcc libc6-dev)'
    : /requires rustc|is not supported by the following package|edition2024/.test(output)
    ? 'update Rust to 1.95 or later (rustup update)'
    : /failed to (?:download|fetch|get)|Could not resolve host|network/.test(output)
    ? 'cargo needs its registry once, or a filled cache'
    : 'its last words follow'
  return new NativeBuildError(`Cannot build ${what}: cargo ended with ${how}; ${hint}`, output)
}

/** Files of other sources; a process that has one in use keeps it. */
async function removeOld(folder: string, { name: [before, after] }: Artifact, kept: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    const ours = name.startsWith(before) && name.endsWith(after)
    const hash = name.slice(before.length, name.length - after.length)
    if (ours && /^[0-9a-f]{16}$/.test(hash) && name !== kept) {
      await Deno.remove(join(folder, name)).catch(() => {})
    }
  }
}
