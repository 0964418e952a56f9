/** Finding and building the library, with a workspace of empty files and a cargo that is a shell script. */
import { assert, assertEquals, assertMatch, assertRejects } from '@std/assert'
import { dirname, join } from '@std/path'
import { BuildProgress } from '../../src/isolate/ffi/build/build_progress.ts'
import { buildLibrary, type BuildOptions, CRATES, LIBRARY } from '../../src/isolate/ffi/build/build.ts'
import { hashSources } from '../../src/isolate/ffi/build/source_hash.ts'
import { buildCoreGuest, checkTools, CORE_GUEST } from '../../src/isolate/ffi/build/core_build.ts'
import { IsolationUnavailableError, NativeBuildError } from '../../src/isolate/machines/errors.ts'

interface Workspace {
  readonly folder: string
  readonly options: BuildOptions
  readonly lines: string[]
  /** How often cargo ran. */
  readonly builds: () => Promise<number>
  readonly write: (path: string, text: string) => Promise<void>
}

const SCRIPT = `#!/bin/sh
echo "built $MAYFLY_FOUND $*" >> "$CARGO_TARGET_DIR.log"
echo "   Compiling mayfly $*" >&2
printf '    Building [====>    ] 1/4: wire \\r    Building [======>  ] 3/4: vmm\\r' >&2
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
        cargo: { command: join(folder, 'cargo'), env: { MAYFLY_FOUND: 'yes' } },
        sink: { terminal: false, write: (text) => void lines.push(text) },
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
    assertEquals(
      await Deno.readTextFile(join(folder, 'target.log')),
      'built yes build --release --locked --package mayfly-ffi\n',
    )
    assertEquals(lines.map((line) => line.replace(/\d+ s/, 'N s')), [
      'mayfly: building the virtual machines, once for these sources (cargo build --release); it takes a minute or two\n',
      'mayfly: building the virtual machines: 1 of 4 crates\n',
      'mayfly: building the virtual machines: 3 of 4 crates\n',
      'mayfly: building the virtual machines took N s\n',
    ])
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
    assertMatch(await hashSources(LIBRARY, folder), /^[0-9a-f]{64}$/)
  }))

const MAKES_GUEST = `${SCRIPT}dir="$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/release"
mkdir -p "$dir" && echo "$PWD $CMAKE_TOOLCHAIN_FILE" > "$dir/guest-core"
`

Deno.test('buildCoreGuest builds in its own workspace, once for the same sources', async () => {
  const missing = await checkTools().then(() => '', (error: Error) => error.message)
  if (missing !== '') return console.log(`SKIPPED: ${missing}`)
  await withWorkspace(MAKES_GUEST, async ({ options, builds, write, folder }) => {
    for (const source of CORE_GUEST.sources) {
      if (!source.endsWith('?')) await write(source.endsWith('/') ? `${source}main.rs` : source, source)
    }
    const first = await buildCoreGuest(options)
    const words = (await Deno.readTextFile(first)).trim().split(' ')
    assertEquals(words, [join(folder, 'guest-core'), join(folder, 'guest-core', 'simde.cmake')])
    assertMatch(first, /\/target\/release\/mayfly\/guest-core-[0-9a-f]{16}$/)
    assertEquals([await buildCoreGuest(options), await builds()], [first, 1])
    await write('vmm/src/lib.rs', 'not part of the guest')
    assertEquals(await buildCoreGuest(options), first)
    await write('wire/src/main.rs', 'changed')
    assertEquals([await buildCoreGuest(options) === first, await builds()], [false, 2])
  })
})

Deno.test('checkTools names what is missing, and what to install', async () => {
  const error = await assertRejects(
    () => checkTools(() => '/nonexistent', '/nonexistent/simde.h'),
    IsolationUnavailableError,
    'apt install',
  )
  for (const word of ['cmake', 'make', 'a C compiler', '/nonexistent/simde.h', "runtime: 'deno'"]) {
    assert(error.message.includes(word), word)
  }
})

Deno.test('buildLibrary is given up when it is told so, and cargo with it', () =>
  withWorkspace(`${SCRIPT}exec sleep 30\n`, async ({ options, lines }) => {
    const stop = new AbortController()
    const building = buildLibrary({ ...options, onBuild: () => stop.abort(), signal: stop.signal })
    await assertRejects(() => building, DOMException)
    const later = new AbortController()
    const begun = buildLibrary({ ...options, signal: later.signal })
    const end = performance.now() + 30_000
    while (!lines.some((line) => line.includes('3 of 4')) && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    later.abort()
    await assertRejects(() => begun, NativeBuildError, 'cargo was ended by SIGTERM')
    assert(lines.at(-1)!.startsWith('mayfly: building the virtual machines given up after'))
  }))

Deno.test('a terminal shows one line that changes', () => {
  const written: string[] = []
  const progress = new BuildProgress('the virtual machines', 'a minute or two', {
    terminal: true,
    write: (text) => void written.push(text),
  })
  progress.line('   Compiling libc v0.2.0')
  progress.line('    Building [>     ] 1/40: libc')
  progress.line('    Building [>     ] 2/40: vmm')
  progress.line('    Blocking waiting for file lock on build directory')
  progress.done('took')
  assertEquals(written.map((text) => text.replaceAll('\r\x1b[K', '<').replace(/ \d+ s/, ' N s')), [
    'mayfly: building the virtual machines, once for these sources (cargo build --release); it takes a minute or two\n',
    '<mayfly: building the virtual machines: 1 of 40 crates',
    '<mayfly: building the virtual machines: 2 of 40 crates',
    '<mayfly: building the virtual machines: another process builds them, waiting for it',
    '<mayfly: building the virtual machines took N s\n',
  ])
})

Deno.test('buildLibrary tells the last words of a cargo that fails, and a hint where it knows one', async () => {
  const cases = [
    ['error: linker \\`cc\\` not found', 'install a C linker'],
    ['error: cannot be built because it requires rustc 1.95', 'update Rust'],
    ['error[E0001]: whatever', 'its last words follow'],
  ]
  for (const [words, hint] of cases) {
    await withWorkspace(`${SCRIPT}echo "${words}" >&2; exit 101\n`, async ({ options }) => {
      const error = await assertRejects(() => buildLibrary(options), NativeBuildError, 'exit code 101')
      assert(error.message.includes(hint), error.message)
      assert(error.output.endsWith(words.replaceAll('\\', '')), error.output)
    })
  }
})

Deno.test('buildLibrary refuses a folder without the sources', () =>
  withWorkspace(WORKS, async ({ options, folder }) => {
    await Deno.remove(join(folder, 'pool'), { recursive: true })
    await assertRejects(() => buildLibrary(options), NativeBuildError, 'want the sources of Mayfly')
  }))
