/** Finding cargo, with homes of shell scripts; and the first look at KVM. */
import { assertEquals, assertMatch, assertRejects } from '@std/assert'
import { dirname, join } from '@std/path'
import { IsolationUnavailableError } from '../../src/isolate/machines/errors.ts'
import { checkKvmDevice } from '../../src/isolate/ffi/kvm_device.ts'
import { findCargo, RUST_VERSION, ToolchainError } from '../../src/isolate/ffi/build/toolchain.ts'
import { ROOT } from './fixture.ts'

interface Machine {
  readonly folder: string
  write(path: string, text: string): Promise<void>
  /** What is found with these variables; `~` is the folder. */
  find(variables: Record<string, string>): ReturnType<typeof findCargo>
}

const WORKS = '#!/bin/sh\necho "cargo 1.95.0 (f2d3ce0bd 2026-03-21)"\n'
/** rustup's stand-in: it wants toolchains below RUSTUP_HOME. */
const STAND_IN = '#!/bin/sh\n[ -e "$RUSTUP_HOME/toolchains" ] && echo "cargo 1.96.1 (abc 2026-01-01)"\n'
const NO_TOOLCHAIN = `#!/bin/sh
echo "error: rustup could not choose a version of cargo to run, because one wasn't specified explicitly" >&2
echo "help: run 'rustup default stable'" >&2
exit 1
`

async function withMachine(run: (machine: Machine) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir()
  try {
    await run({
      folder,
      async write(path, text) {
        await Deno.mkdir(dirname(join(folder, path)), { recursive: true })
        await Deno.writeTextFile(join(folder, path), text, { mode: 0o755 })
      },
      find: (variables) => findCargo((name) => variables[name]?.replaceAll('~', folder)),
    })
  } finally {
    await Deno.remove(folder, { recursive: true })
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false)
}

Deno.test('a cargo of PATH is taken as it is', () =>
  withMachine(async ({ folder, write, find }) => {
    await write('usr/bin/cargo', WORKS)
    assertEquals(await find({ PATH: '~/nowhere:~/usr/bin', HOME: '~/home' }), {
      command: join(folder, 'usr/bin/cargo'),
      env: {},
      version: '1.95.0',
    })
  }))

Deno.test("rustup's toolchains are found beside its cargo where HOME has none", () =>
  withMachine(async ({ folder, write, find }) => {
    await write('ann/.cargo/bin/cargo', STAND_IN)
    await write('ann/.rustup/toolchains/stable', '')
    await write('empty/file', '')
    const variables = { PATH: '~/ann/.cargo/bin', HOME: '~/empty' }
    const env = { RUSTUP_HOME: join(folder, 'ann/.rustup') }
    assertEquals((await find(variables)).env, env)
    assertEquals((await find({ PATH: '~/ann/.cargo/bin' })).env, env)
    // The registry that a company runs is named there.
    await write('ann/.cargo/config.toml', '')
    assertEquals((await find(variables)).env, { ...env, CARGO_HOME: join(folder, 'ann/.cargo') })
    assertEquals((await find({ ...variables, CARGO_HOME: '~/own' })).env, env)
    // Without PATH, where rustup puts it.
    await write('bob/.cargo/bin/cargo', WORKS)
    assertEquals((await find({ PATH: '', HOME: '~/bob' })).command, join(folder, 'bob/.cargo/bin/cargo'))
  }))

Deno.test('what is missing is said in one sentence, with what to install', () =>
  withMachine(async ({ write, find }) => {
    const fails = async (variables: Record<string, string>, pattern: RegExp) => {
      const { message } = await assertRejects(() => find(variables), ToolchainError)
      assertMatch(message, pattern)
      assertEquals(message.includes('\n'), false, message)
    }
    await fails(
      { PATH: '~/nowhere', HOME: '~/home' },
      /^there is no cargo in PATH: install Rust 1\.\d+ or later/,
    )
    await fails({}, /^there is no cargo in PATH/)
    await write('ann/.cargo/bin/cargo', NO_TOOLCHAIN)
    await fails(
      { PATH: '~/ann/.cargo/bin', HOME: '~/ann' },
      /finds no toolchain: run 'rustup default stable'/,
    )
    await write('old/cargo', '#!/bin/sh\necho "cargo 1.70.0 (abc 2023-01-01)"\n')
    await fails({ PATH: '~/old' }, /is of Rust 1\.70\.0: want 1\.\d+ or later/)
    await write('broken/cargo', '#!/bin/sh\necho "segmentation fault" >&2\nexit 139\n')
    await fails({ PATH: '~/broken' }, /does not work \(segmentation fault\): install Rust/)
    await write('text/cargo', 'no program')
    await fails({ PATH: '~/text' }, /install Rust/)
  }))

Deno.test('the oldest Rust is the one of the workspace', async () => {
  const manifest = await Deno.readTextFile(join(ROOT, 'native/Cargo.toml'))
  assertEquals(/^rust-version = "(.*)"$/m.exec(manifest)?.[1], RUST_VERSION)
})

Deno.test('checkKvmDevice says what is missing and what to do, before anything is built', async () => {
  const linux = { os: 'linux', arch: 'x86_64' } as typeof Deno.build
  await assertRejects(
    () => checkKvmDevice('/nonexistent/kvm', linux),
    IsolationUnavailableError,
    '/dev/kvm does not exist: enable virtualisation',
  )
  await assertRejects(
    () => checkKvmDevice('/dev/null', linux),
    IsolationUnavailableError,
    '/dev/kvm is no KVM device: look',
  )
  if (await exists('/dev/kvm')) await checkKvmDevice('/dev/kvm', linux)
  else console.log('SKIPPED: no /dev/kvm to look at')
  const mac = { os: 'darwin', arch: 'aarch64' } as typeof Deno.build
  await assertRejects(
    () => checkKvmDevice('/dev/null', mac),
    IsolationUnavailableError,
    'need Linux on x86-64, and this is darwin on aarch64',
  )
})
