/** deno-std's own `path` asks Node's `process` for the system, which loads a good part of Node's API. */
// @ts-types="./types/path.d.ts"
import * as posix from 'deno-std/path/posix/mod.js'
// @ts-types="./types/path.d.ts"
import * as windows from 'deno-std/path/windows/mod.js'

export const {
  SEPARATOR,
  basename,
  dirname,
  extname,
  fromFileUrl,
  globToRegExp,
  isAbsolute,
  join,
  normalize,
  parse,
  relative,
  resolve,
  toFileUrl,
} = globalThis.Deno?.build.os === 'windows' ? windows : posix
