/** Finding and building the library, with a workspace of empty files and a cargo that is a shell script. */
import { assert, assertEquals, assertMatch, assertRejects } from '@std/assert'
import { dirname, join } from '@std/path'
import {
  buildLibrary,
  type BuildOptions,
  CRATES,
  hashSources,
  NativeBuildError,
} from '../../src/isolate/ffi/build.ts'

interface Workspace {
  readonly folder: string
  readonly options: BuildOptions
  readonly lines: string[]
  /** How often cargo ran. */
  readonly builds: () => Promise<number>
  readonly write: (path: string, text: string) => Promise<void>
}

const SCRIPT = `#!/bin/sh
echo built >> "$CARGO_TARGET_DIR.log"
echo "   Compiling mayfly $*" >&2
`
const WORKS =
  `${SCRIPT}mkdir -p "$CARGO_TARGET_DIR/release" && echo library > "$CARGO_TARGET_DIR/release/libmayfly_ffi.so"\n`

async function withWorkspace(script: string, run: (workspace: Workspace) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir()
  const write = async (path: string, text: string) => {
    await Deno.mkdir(dirname(join(folder, path)), { recursive: true })
    await Deno.writeTextFile(join(folder, path), text)
  }
  try {
    for (const path of ['Cargo.toml', 'Cargo.lock', 'ffi/build.rs']) await write(path, path)
    for (const crate of CRATES) {
      await write(`${crate}/Cargo.toml`, crate)
      await write(`${crate}/src/lib.rs`, '')
      await write(`${crate}/src/deep/part.rs`, '')
    }
    await write('cargo', script)
    await Deno.chmod(join(folder, 'cargo'), 0o755)
    const lines: string[] = []
    await run({
      folder,
      lines,
      write,
      options: {
        folder,
        targetFolder: join(folder, 'target'),
        cargo: join(folder, 'cargo'),
        progress: (line) => lines.push(line),
      },
      builds: async () => {
        const log = await Deno.readTextFile(join(folder, 'target.log')).catch(() => '')
        return log.split('\n').length - 1
      },
    })
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

Deno.test('buildLibrary builds once for the same sources and anew for others', () =>
  withWorkspace(WORKS, async ({ options, builds, write, lines, folder }) => {
    const first = await buildLibrary(options)
    assertEquals(await Deno.readTextFile(first), 'library\n')
    assertMatch(first, /\/target\/release\/mayfly\/libmayfly-[0-9a-f]{16}\.so$/)
    assert(
      lines.some((line) => line.includes('Compiling mayfly build --release --locked --package mayfly-ffi')),
    )
    assertEquals([await buildLibrary(options), await builds()], [first, 1])
    for (const path of ['vmm/src/deep/part.rs', 'Cargo.lock', 'ffi/build.rs', 'wire/src/more.rs']) {
      const before = await builds()
      await write(path, 'changed')
      const next = await buildLibrary(options)
      assertEquals([next !== first, await builds()], [true, before + 1], path)
      const kept = [...Deno.readDirSync(dirname(next))].map(({ name }) => join(dirname(next), name))
      assertEquals(kept, [next])
    }
    const before = await builds()
    await write('mayfly-vm/src/main.rs', 'not part of the library')
    await write('vmm/tests/machine.rs', 'nor is this')
    await buildLibrary(options)
    assertEquals(await builds(), before)
    assertMatch(await hashSources(folder), /^[0-9a-f]{64}$/)
  }))

Deno.test('buildLibrary says what to install when there is no cargo', () =>
  withWorkspace(WORKS, async ({ options, folder }) => {
    const missing = { ...options, cargo: join(folder, 'none') }
    await assertRejects(() => buildLibrary(missing), NativeBuildError, 'no cargo in PATH; install Rust')
  }))

Deno.test('buildLibrary tells the last words of a cargo that fails, and the mend where it knows one', async () => {
  const cases = [
    ['error: linker \\`cc\\` not found', 'install a C linker'],
    ['error: cannot be built because it requires rustc 1.95', 'update Rust'],
    ['error[E0001]: whatever', 'its last words follow'],
  ]
  for (const [words, mend] of cases) {
    await withWorkspace(`${SCRIPT}echo "${words}" >&2; exit 101\n`, async ({ options }) => {
      const error = await assertRejects(() => buildLibrary(options), NativeBuildError, 'exit code 101')
      assert(error.message.includes(mend), error.message)
      assert(error.output.endsWith(words.replaceAll('\\', '')), error.output)
    })
  }
})

Deno.test('buildLibrary refuses a folder without the sources', () =>
  withWorkspace(WORKS, async ({ options, folder }) => {
    await Deno.remove(join(folder, 'pool'), { recursive: true })
    await assertRejects(() => buildLibrary(options), NativeBuildError, 'want the sources of Mayfly')
  }))
