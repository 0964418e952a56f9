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
    inputs: [1],
    status: 503,
    message: 'OverloadedError2',
    reason: 'the bundler numbers classes of one name',
  },
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
    name: 'bcryptjs',
    runtime: 'core',
    status: 500,
    message: "import 'crypto': the runtime 'core' has no modules of Node, want isolated = { runtime: 'de",
    reason: 'core has no modules of Node',
  },
  {
    name: 'cheerio',
    runtime: 'core',
    status: 500,
    message: "import 'node:stream': the runtime 'core' has no modules of Node, want isolated = { runtime",
    reason: 'core has no modules of Node',
  },
  {
    name: 'ejs',
    runtime: 'core',
    status: 500,
    message: "import 'node:fs': the runtime 'core' has no modules of Node, want isolated = { runtime: 'd",
    reason: 'core has no modules of Node',
  },
  {
    name: 'elysia',
    runtime: 'core',
    status: 500,
    message: "import 'tty': the runtime 'core' has no modules of Node, want isolated = { runtime: 'deno'",
    reason: 'core has no modules of Node',
  },
  {
    name: 'graphql-yoga',
    runtime: 'core',
    status: 500,
    message: "import 'node:stream': the runtime 'core' has no modules of Node, want isolated = { runtime",
    reason: 'core has no modules of Node',
  },
  {
    name: 'handlebars',
    runtime: 'core',
    status: 500,
    message: "import 'fs': the runtime 'core' has no modules of Node, want isolated = { runtime: 'deno' ",
    reason: 'core has no modules of Node',
  },
  {
    name: 'i18next',
    runtime: 'core',
    inputs: [
      2,
    ],
    status: 200,
    message: '{"hi":"Hello Ola","lines":["3 apples","4 apples","5 apples","6 apples","7 apples","8 apple',
    reason: 'core has no Intl, and so no plural rules',
  },
  {
    name: 'iconv-lite',
    runtime: 'core',
    status: 500,
    message: "import 'string_decoder': the runtime 'core' has no modules of Node, want isolated = { runt",
    reason: 'core has no modules of Node',
  },
  {
    name: 'intl-messageformat',
    runtime: 'core',
    status: 500,
    message: "Intl is not defined: Intl is not there in the runtime 'core', want isolated = { runtime: '",
    reason: 'core has no Intl',
  },
  {
    name: 'jose',
    runtime: 'core',
    status: 500,
    message: "crypto.subtle.importKey is not there in the runtime 'core', want isolated = { runtime: 'de",
    reason: 'core has no crypto.subtle but digest',
  },
  {
    name: 'jszip',
    runtime: 'core',
    status: 500,
    message: "import 'buffer': the runtime 'core' has no modules of Node, want isolated = { runtime: 'de",
    reason: 'core has no modules of Node',
  },
  {
    name: 'liquidjs',
    runtime: 'core',
    status: 500,
    message: "import 'stream': the runtime 'core' has no modules of Node, want isolated = { runtime: 'de",
    reason: 'core has no modules of Node',
  },
  {
    name: 'luxon',
    runtime: 'core',
    status: 500,
    message: "Intl is not defined: Intl is not there in the runtime 'core', want isolated = { runtime: '",
    reason: 'core has no Intl',
  },
  {
    name: 'mathjs',
    runtime: 'core',
    status: 500,
    message: "import 'crypto': the runtime 'core' has no modules of Node, want isolated = { runtime: 'de",
    reason: 'core has no modules of Node',
  },
  {
    name: 'papaparse',
    runtime: 'core',
    status: 500,
    message: "import 'stream': the runtime 'core' has no modules of Node, want isolated = { runtime: 'de",
    reason: 'core has no modules of Node',
  },
  {
    name: 'postcss',
    runtime: 'core',
    status: 500,
    message: 'import of',
    reason: "a file that the package's `browser` map leaves out is looked for",
  },
  {
    name: 'qrcode',
    runtime: 'core',
    status: 500,
    message: "import 'util': the runtime 'core' has no modules of Node, want isolated = { runtime: 'deno",
    reason: 'core has no modules of Node',
  },
  {
    name: 'rehype',
    runtime: 'core',
    status: 500,
    message: "import 'node:path': the runtime 'core' has no modules of Node, want isolated = { runtime: ",
    reason: 'core has no modules of Node',
  },
  {
    name: 'remark',
    runtime: 'core',
    status: 500,
    message: "import 'node:path': the runtime 'core' has no modules of Node, want isolated = { runtime: ",
    reason: 'core has no modules of Node',
  },
  {
    name: 'sanitize-html',
    runtime: 'core',
    status: 500,
    message: 'import of',
    reason: "a file that the package's `browser` map leaves out is looked for",
  },
  {
    name: 'shiki',
    runtime: 'core',
    status: 500,
    message: 'invalid character in class in regular expression',
    reason: "core's regular expressions do not take the pattern",
  },
  {
    name: 'uuid',
    runtime: 'core',
    status: 500,
    message: "import 'node:crypto': the runtime 'core' has no modules of Node, want isolated = { runtime",
    reason: 'core has no modules of Node',
  },
]
