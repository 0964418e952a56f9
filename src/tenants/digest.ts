/** What a program is known by: equal programs have equal digests. */
import { hexDigest } from '../context/hex_digest.ts'
import type { SandboxCode } from '../sandbox/code.ts'

/** A digest of the modules, `env` and limits of a program, in hexadecimal digits. `env` must have a JSON form. */
export async function digestCode(code: SandboxCode): Promise<string> {
  const parts: unknown[] = [{ ...code, modules: null }]
  for (const [name, source] of Object.entries(code.modules)) {
    const bytes = typeof source === 'string'
      ? undefined
      : 'data' in source
      ? source.data
      : 'wasm' in source
      ? source.wasm
      : undefined
    parts.push([name, bytes === undefined ? source : await hexDigest(new Uint8Array(bytes))])
  }
  return (await hexDigest(JSON.stringify(parts))).slice(0, 16)
}
