/** What a program cannot do, in words for who runs it: the machine's own words are for the authors of routes. */
import type { IsolateRuntime } from '../isolate/plan/options.ts'

const NO_NETWORK =
  'programs have no network, want `outbound` for fetch, node:http and node:https, a binding in `env` that does it, or what they need as arguments'
const NO_FILES = 'programs have no files, want them among `modules`, or handed in as arguments or in `env`'
const NO_PROCESSES = 'programs start no processes, want JavaScript or WebAssembly that does it'
const NO_THREADS = 'programs have no workers, want a call of the sandbox for each part of the work'
const OTHER_RUNTIME = "want the sandbox's runtime: 'deno'"

/** Of what the core runtime has not, that which the other one would not give either. */
const NOWHERE: Readonly<Record<string, string>> = {
  fetch: NO_NETWORK,
  WebSocket: NO_NETWORK,
  EventSource: NO_NETWORK,
  Worker: NO_THREADS,
}

type Rule = readonly [pattern: RegExp, words: (message: string, name: string) => string]

const RULES: readonly Rule[] = [
  [/^(.*): isolated handlers have no network, want .*$/s, (_, attempt) => `${attempt}: ${NO_NETWORK}`],
  [/^(.*): isolated handlers have no files, want .*$/s, (_, attempt) => `${attempt}: ${NO_FILES}`],
  [
    /^(.*): isolated handlers load no native code, want .*$/s,
    (_, attempt) =>
      `${attempt}: programs load no native code, want JavaScript or WebAssembly among \`modules\``,
  ],
  [/^(?:ENOENT|EROFS|EACCES): /, (message) => `${message}: ${NO_FILES}`],
  [/^Read-only file system \(os error 30\)$/, (message) => `${message}: ${NO_FILES}`],
  [/^(?:Failed to spawn |Command failed: |spawn(?:Sync)? )/, (message) => `${message}: ${NO_PROCESSES}`],
]

const CORE_RULES: readonly Rule[] = [
  [
    /^(\S+) is not there in the runtime 'core', want isolated = \{ runtime: 'deno' \}$/,
    (_, name) => `${name} is not there in the runtime 'core', ${NOWHERE[name] ?? OTHER_RUNTIME}`,
  ],
  [
    /^(Deno|process|Buffer|WebAssembly|require|localStorage|caches) is not defined$/,
    (message) => `${message}: the runtime 'core' has none, ${OTHER_RUNTIME}`,
  ],
  [
    /^Cannot import (\S+): the runtime 'core' has no modules but those of the bundle, want .*$/s,
    (_, name) =>
      `Cannot import '${name}': it is none of the modules that came with the program, want it among \`modules\`, or bundled`,
  ],
]

/** The message of an error of a program; with what to do instead, where the machine refused something. */
export function advise(runtime: IsolateRuntime, message: string): string {
  const rules = runtime === 'core' ? [...CORE_RULES, ...RULES] : RULES
  for (const [pattern, words] of rules) {
    const match = pattern.exec(message)
    if (match !== null) return words(message, match[1] ?? '')
  }
  return message
}
