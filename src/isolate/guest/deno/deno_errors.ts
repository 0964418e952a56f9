/**
 * What Deno says when it refuses something, in Mayfly's words: nobody can run a guest "again with the --allow-net flag". Errors keep their
 * class, as packages ask for it.
 */

/** `Requires net access to "127.0.0.1:80", run again with the --allow-net flag`. */
const REFUSAL = /^Requires (\w+) access(?: to (.*?))?, run again with/
/** What an ignored read ends with: it looks like a file that is not there. */
const NO_FILE = 'No such file or directory (os error 2)'

const IN_PLAIN = 'middleware that hands it on in ctx.state, or a route without isolated'
const FILES = "an import of the file (with { type: 'text' } or 'bytes'), or "

/** By Deno's name of the permission: what was tried, what is not there, and the alternative. */
const REASONS: Readonly<Record<string, readonly [attempt: string, reason: string, alternative: string]>> = {
  net: [
    'reach',
    'isolated handlers have no network',
    `fetch, node:http or node:https with its host allowed (outbound), a binding that does it, ${IN_PLAIN}`,
  ],
  read: ['read', 'isolated handlers have no files', FILES + IN_PLAIN],
  write: ['write', 'isolated handlers have no files', `memory, or ${IN_PLAIN}`],
  run: ['run', 'isolated handlers start no other programs', IN_PLAIN],
  ffi: [
    'load',
    'isolated handlers load no native code',
    `a package in JavaScript or WebAssembly, or ${IN_PLAIN}`,
  ],
  import: ['import', 'isolated handlers hold what they import by name', 'an import of a literal name'],
  sys: ['ask for', 'isolated handlers see nothing of the host', IN_PLAIN],
  env: ['read the variable', 'it is not named', "its name in isolated = { env: ['NAME'] }"],
}

/** A refusal of Deno in Mayfly's words, or any other message as it is. */
export function toAdvice(message: string): string {
  if (message === NO_FILE) return `${message}: isolated handlers have no files, want ${FILES}${IN_PLAIN}`
  const [, permission, target = 'it'] = REFUSAL.exec(message) ?? []
  const reason = permission === undefined ? undefined : REASONS[permission]
  if (reason === undefined) return message
  return `Cannot ${reason[0]} ${target}: ${reason[1]}, want ${reason[2]}`
}

/** What packages say that look for their machine code: `node-gyp-build`, `bindings`, napi-rs, sharp. */
const ADD_ON =
  /native (?:build|binding|module)|bindings file|module root given file|\.node\b|Could not load the "\w+" module/
/** A program that is asked for by its name: Deno looks for it before it looks at the permission. */
const NO_PROGRAM = /^Failed to spawn .*: (?:no path to search|entity not found)|^spawn .* ENOENT$/
const NODE_NO_FILE = /^ENOENT: no such file or directory/

/** The cause, in an isolated handler, of errors that are not of Deno's own classes. */
export function explainError(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { message } = error
  const about = (permission: string) => REASONS[permission].slice(1).join(', want ')
  if (message.includes('isolated handlers')) return undefined
  if (error instanceof TypeError && message.startsWith(NO_FILE)) return about('import')
  if (NO_PROGRAM.test(message)) return about('run')
  if (NODE_NO_FILE.test(message)) return about('read')
  if (ADD_ON.test(message)) return about('ffi').replace('native code', 'native add-ons')
}

/** Makes the errors of this runtime say it: a class's constructor calls that of its own prototype, whatever that is by then. */
export function installAdvice(): void {
  for (const Kind of [Deno.errors.NotCapable, Deno.errors.NotFound]) {
    const Parent = Object.getPrototypeOf(Kind) as ErrorConstructor
    class Advised extends Parent {
      constructor(message?: string, options?: ErrorOptions) {
        super(typeof message === 'string' ? toAdvice(message) : message, options)
      }
    }
    Object.setPrototypeOf(Kind, Advised)
  }
}
