/**
 * Where an isolated handler does not answer as the plain one does, and why. The tests fail for a difference that is not here, and for
 * one that is here but is not seen any more; the docs show the lines.
 */
import type { IsolateRuntime } from '@mayfly/mayfly'

/** One line of the table. */
export interface KnownDifference {
  /** Name of the handler's file. */
  readonly name: string
  readonly runtime: IsolateRuntime
  /** Indices of the handler's inputs. Default: all of them. */
  readonly inputs?: readonly number[]
  /** Status of the isolated answer. */
  readonly status: number
  /** A part of what the handler threw, or else of the answer's body. */
  readonly message: string
  /** Why that is so, for people. */
  readonly reason: string
}

/** The line of an input's answer in a runtime, if there is one. */
export function findKnown(name: string, runtime: IsolateRuntime, input: number): KnownDifference | undefined {
  return KNOWN_DIFFERENCES.find((line) =>
    line.name === name && line.runtime === runtime && (line.inputs?.includes(input) ?? true)
  )
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    name: 'anthropic',
    runtime: 'deno',
    inputs: [2],
    status: 502,
    message: 'isolated handlers have no network',
    reason: 'it asks a server, and an isolated handler has no network',
  },
  {
    name: 'aws-sdk',
    runtime: 'deno',
    inputs: [2],
    status: 502,
    message: 'isolated handlers have no network',
    reason: 'it asks a server, and an isolated handler has no network',
  },
  {
    name: 'axios',
    runtime: 'deno',
    inputs: [1],
    status: 502,
    message: 'isolated handlers have no network',
    reason: 'it asks a server, and an isolated handler has no network',
  },
  {
    name: 'ioredis',
    runtime: 'deno',
    inputs: [2],
    status: 502,
    message: 'isolated handlers have no network',
    reason: 'it asks a server, and an isolated handler has no network',
  },
  {
    name: 'openai',
    runtime: 'deno',
    inputs: [2],
    status: 502,
    message: 'isolated handlers have no network',
    reason: 'it asks a server, and an isolated handler has no network',
  },
  {
    name: 'pg',
    runtime: 'deno',
    inputs: [1],
    status: 502,
    message: 'isolated handlers have no network',
    reason: 'it asks a server, and an isolated handler has no network',
  },
  {
    name: 'better-sqlite3',
    runtime: 'deno',
    status: 500,
    message: 'native add-ons',
    reason: 'it is a native add-on',
  },
  {
    name: 'anthropic',
    runtime: 'core',
    inputs: [2],
    status: 502,
    message:
      '{"failed":["Connection error.","fetch is not there in the runtime \'core\', want isolated = { runtime: \'deno\' }"',
    reason: 'core has no network, and says so in its own words',
  },
  {
    name: 'avsc',
    runtime: 'core',
    status: 500,
    message: "import 'zlib': the runtime 'core' has no node:zlib, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:zlib`',
  },
  {
    name: 'aws-sdk',
    runtime: 'core',
    status: 500,
    message:
      "import 'node:fs/promises': the runtime 'core' has no node:fs/promises, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:fs/promises`',
  },
  {
    name: 'axios',
    runtime: 'core',
    inputs: [1],
    status: 502,
    message:
      '{"failed":["fetch is not there in the runtime \'core\', want isolated = { runtime: \'deno\' }","fetch is not there',
    reason: 'core has no network, and says so in its own words',
  },
  {
    name: 'better-sqlite3',
    runtime: 'core',
    status: 500,
    message: "import 'fs': the runtime 'core' has no node:fs, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:fs`',
  },
  {
    name: 'brotli-wasm',
    runtime: 'core',
    status: 500,
    message: "fetch is not there in the runtime 'core', want isolated = { runtime: 'deno' }",
    reason: 'core has no files of packages, and no WebAssembly',
  },
  {
    name: 'bunyan',
    runtime: 'core',
    status: 500,
    message: "import 'os': the runtime 'core' has no node:os, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:os`',
  },
  {
    name: 'clean-css',
    runtime: 'core',
    status: 500,
    message: "import 'fs': the runtime 'core' has no node:fs, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:fs`',
  },
  {
    name: 'debug',
    runtime: 'core',
    inputs: [0],
    status: 200,
    message: '{"lines":["app:db %s is %d and {\\"a\\":1}  größe 7"],"enabled":[true,false]}',
    reason: 'its files for browsers format for the console there',
  },
  {
    name: 'dotenv',
    runtime: 'core',
    status: 500,
    message: "import 'os': the runtime 'core' has no node:os, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:os`',
  },
  {
    name: 'eta',
    runtime: 'core',
    status: 500,
    message: "import 'node:fs': the runtime 'core' has no node:fs, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:fs`',
  },
  {
    name: 'fastify',
    runtime: 'core',
    status: 500,
    message: "import 'node:http': the runtime 'core' has no node:http, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:http`',
  },
  {
    name: 'figlet',
    runtime: 'core',
    status: 422,
    message: 'Synchronous font loading is not implemented for the browser',
    reason: 'its files for browsers fetch its fonts',
  },
  {
    name: 'graphql-yoga',
    runtime: 'core',
    inputs: [0, 2],
    status: 500,
    message: '{"errors":[{"message":"Unexpected error.","extensions":{"code":"INTERNAL_SERVER_ERROR"}}]}',
    reason: 'its files for browsers want what core has not',
  },
  {
    name: 'h3',
    runtime: 'core',
    status: 500,
    message: "import 'node:http': the runtime 'core' has no node:http, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:http`',
  },
  {
    name: 'hash-wasm',
    runtime: 'core',
    status: 500,
    message: 'waits for a promise that nothing will settle',
    reason:
      'core has no WebAssembly; the package keeps its lock when it says so, and calls behind the first wait for ever',
  },
  {
    name: 'html-minifier-terser',
    runtime: 'core',
    status: 500,
    message: "import 'fs': the runtime 'core' has no node:fs, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:fs`',
  },
  {
    name: 'hyperformula',
    runtime: 'core',
    status: 500,
    message:
      "NotSupportedError: Intl.Collator is not there in the runtime 'core', want isolated = { runtime: 'deno' }",
    reason: 'core knows no languages',
  },
  {
    name: 'i18next',
    runtime: 'core',
    status: 500,
    message:
      "NotSupportedError: Intl.getCanonicalLocales is not there in the runtime 'core', want isolated = { runtime: 'den",
    reason: 'core has no plural rules, and lets nobody guess them',
  },
  {
    name: 'intl-messageformat',
    runtime: 'core',
    status: 500,
    message:
      "NotSupportedError: Intl.NumberFormat.supportedLocalesOf is not there in the runtime 'core', want isolated = { r",
    reason: 'core knows no languages',
  },
  {
    name: 'ioredis',
    runtime: 'core',
    status: 500,
    message: "import 'crypto': the runtime 'core' has no node:crypto, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:crypto`',
  },
  {
    name: 'jsdom',
    runtime: 'core',
    status: 500,
    message: "import 'node:fs': the runtime 'core' has no node:fs, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:fs`',
  },
  {
    name: 'jsonpath-plus',
    runtime: 'core',
    status: 500,
    message: 'invalid character in class in regular expression',
    reason: "core's regular expressions do not take the pattern",
  },
  {
    name: 'jsonwebtoken',
    runtime: 'core',
    status: 500,
    message: "import 'crypto': the runtime 'core' has no node:crypto, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:crypto`',
  },
  {
    name: 'knex',
    runtime: 'core',
    status: 500,
    message: "import 'tty': the runtime 'core' has no node:tty, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:tty`',
  },
  {
    name: 'koa',
    runtime: 'core',
    status: 500,
    // Its own import or its package's comes first, by where the cache lies.
    message: "the runtime 'core' has no node:http, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:http`',
  },
  {
    name: 'luxon',
    runtime: 'core',
    inputs: [0, 1],
    status: 500,
    message:
      "NotSupportedError: Intl.DateTimeFormat is not there in the runtime 'core', want isolated = { runtime: 'deno' }",
    reason: 'core knows no languages and no time zones',
  },
  {
    name: 'nodemailer',
    runtime: 'core',
    status: 500,
    message: "import 'node:fs': the runtime 'core' has no node:fs, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:fs`',
  },
  {
    name: 'openai',
    runtime: 'core',
    inputs: [2],
    status: 502,
    message:
      '{"failed":["Connection error.","fetch is not there in the runtime \'core\', want isolated = { runtime: \'deno\' }"',
    reason: 'core has no network, and says so in its own words',
  },
  {
    name: 'pg',
    runtime: 'core',
    status: 500,
    message: "import 'fs': the runtime 'core' has no node:fs, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:fs`',
  },
  {
    name: 'pino',
    runtime: 'core',
    status: 200,
    message: '[]',
    reason: 'its files for browsers write to the console',
  },
  {
    name: 'pngjs',
    runtime: 'core',
    status: 500,
    message: "import 'zlib': the runtime 'core' has no node:zlib, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:zlib`',
  },
  {
    name: 'pug',
    runtime: 'core',
    status: 500,
    message: "import 'fs': the runtime 'core' has no node:fs, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:fs`',
  },
  {
    name: 'shiki',
    runtime: 'core',
    status: 500,
    message: 'SyntaxError: invalid character in class in regular expression',
    reason: "core's regular expressions do not take the pattern",
  },
  {
    name: 'showdown',
    runtime: 'core',
    status: 500,
    message: "TypeError: Cannot read properties of undefined (reading 'codeblock')",
    reason: 'the engine has no `RegExp.$1`',
  },
  {
    name: 'sql.js',
    runtime: 'core',
    status: 500,
    message: "import 'node:fs': the runtime 'core' has no node:fs, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:fs`',
  },
  {
    name: 'turndown',
    runtime: 'core',
    status: 500,
    message: 'ReferenceError: document is not defined',
    reason: 'its files for browsers want a `document`',
  },
  {
    name: 'vue',
    runtime: 'core',
    status: 500,
    message:
      'Error: On-the-fly template compilation is not supported in the ESM build of @vue/server-renderer. All template',
    reason: 'its files for browsers compile no templates',
  },
  {
    name: 'winston',
    runtime: 'core',
    status: 500,
    message: "import 'os': the runtime 'core' has no node:os, want isolated = { runtime: 'deno' }",
    reason: 'core has no `node:os`',
  },
]
