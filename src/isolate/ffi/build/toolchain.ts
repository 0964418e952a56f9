/**
 * Rust on this machine. `cargo` is mostly rustup's stand-in, which looks for the toolchains below HOME; where HOME is another one
 * (a service, a container, a clean test) they are still beside the stand-in: X/.cargo/bin/cargo and X/.rustup.
 */
import { dirname, join } from '@std/path'

/** A cargo that runs. */
export interface Cargo {
  /** Path of the binary. */
  readonly command: string
  /** What its environment needs beside ours. */
  readonly env: Readonly<Record<string, string>>
  /** As `1.95.0`. */
  readonly version: string
}

/** There is no Rust that could build; the message is one sentence that says what to install. */
export class ToolchainError extends Error {
  override readonly name = 'ToolchainError'
}

/** The oldest Rust that builds the workspace, as its manifest says. */
export const RUST_VERSION = '1.95'
const INSTALL =
  `install Rust ${RUST_VERSION} or later (https://rustup.rs) and a C linker (Debian: apt install gcc libc6-dev)`

/** Finds a cargo that runs and is new enough. Rejects with {@link ToolchainError}. */
export async function findCargo(
  readEnv: (name: string) => string | undefined = (name) => Deno.env.get(name),
): Promise<Cargo> {
  const command = await findBinary(readEnv)
  if (command === undefined) throw new ToolchainError(`there is no cargo in PATH: ${INSTALL}`)
  const env = await toEnvironment(command, readEnv)
  const version = await askVersion(command, env)
  if (compareVersions(version, RUST_VERSION) < 0) {
    throw new ToolchainError(
      `${command} is of Rust ${version}: want ${RUST_VERSION} or later (rustup update)`,
    )
  }
  return { command, env, version }
}

/** The first cargo of PATH, else the one that rustup installs without being asked about PATH. */
async function findBinary(readEnv: (name: string) => string | undefined): Promise<string | undefined> {
  const folders = (readEnv('PATH') ?? '').split(':').filter((folder) => folder.startsWith('/'))
  const own = readEnv('CARGO_HOME') ?? toPath(readEnv('HOME'), '.cargo')
  if (own !== undefined) folders.push(join(own, 'bin'))
  for (const folder of folders) {
    const path = join(folder, 'cargo')
    if (await exists(path)) return path
  }
  return undefined
}

/** RUSTUP_HOME where rustup would not find it, and CARGO_HOME where the registry's configuration lies beside it. */
async function toEnvironment(
  command: string,
  readEnv: (name: string) => string | undefined,
): Promise<Record<string, string>> {
  const env: Record<string, string> = {}
  const cargoHome = dirname(dirname(command))
  if (!command.endsWith('/.cargo/bin/cargo')) return env
  const home = readEnv('HOME')
  const rustup = join(dirname(cargoHome), '.rustup')
  if (isUnset(readEnv('RUSTUP_HOME')) && !await exists(toPath(home, '.rustup')) && await exists(rustup)) {
    env.RUSTUP_HOME = rustup
  }
  const isConfigured = await exists(join(cargoHome, 'config.toml')) || await exists(join(cargoHome, 'config'))
  if (isUnset(readEnv('CARGO_HOME')) && !await exists(toPath(home, '.cargo')) && isConfigured) {
    env.CARGO_HOME = cargoHome
  }
  return env
}

async function askVersion(command: string, env: Record<string, string>): Promise<string> {
  let output: Deno.CommandOutput
  try {
    output = await new Deno.Command(command, { args: ['--version'], env, stdin: 'null' }).output()
  } catch (error) {
    throw new ToolchainError(`${command} cannot be started (${(error as Error).message}): ${INSTALL}`)
  }
  const decoder = new TextDecoder()
  const version = /^cargo (\d+\.\d+\.\d+)/.exec(decoder.decode(output.stdout))?.[1]
  if (output.success && version !== undefined) return version
  const words = decoder.decode(output.stderr)
  if (/rustup|toolchain/.test(words)) {
    throw new ToolchainError(
      `${command} is rustup's and finds no toolchain: run 'rustup default stable' (Rust ${RUST_VERSION} or later), or set RUSTUP_HOME to the folder that has one`,
    )
  }
  throw new ToolchainError(`${command} does not work (${words.trim().split('\n')[0]}): ${INSTALL}`)
}

/** Negative when `first` is older; missing parts count as 0. */
function compareVersions(first: string, second: string): number {
  const parts = (version: string) => version.split('.').map(Number)
  const [a, b] = [parts(first), parts(second)]
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function isUnset(value: string | undefined): boolean {
  return value === undefined || value === ''
}

function toPath(folder: string | undefined, name: string): string | undefined {
  return isUnset(folder) ? undefined : join(folder!, name)
}

async function exists(path: string | undefined): Promise<boolean> {
  if (path === undefined) return false
  try {
    await Deno.stat(path)
    return true
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) return false
    throw error
  }
}
