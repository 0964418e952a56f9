import { basename } from '@std/path'

/** What a command prints, without blanks at its ends. Rejects when it fails, with its words. */
export async function output(folder: string, command: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    cwd: folder,
    stdin: 'null',
    env: { NO_COLOR: '1' },
  }).output()
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim()
  if (success) return text(stdout)
  const error = /^error: .*$/m.exec(text(stderr))?.[0] ?? text(stderr)
  throw new Error(`Cannot run ${basename(command)} ${args[0]}: ${error}`)
}
