/** A program as the fragment of an address: `js.` or `ts.`, and its text deflated, in base64url. */

/** The fragment of a program, without the `#`. */
export async function packProgram(code, language) {
  const packed = new Blob([code]).stream().pipeThrough(new CompressionStream('deflate-raw'))
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer())
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return `${language}.${btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`
}

/** The program of a fragment; null for what is none, and for one of more than `most` characters: it is not unpacked further. */
export async function unpackProgram(fragment, most) {
  const [, language, packed] = /^(js|ts)\.([\w-]{1,200000})$/.exec(fragment) ?? []
  if (packed === undefined) return null
  try {
    const text = atob(packed.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0))
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
    let code = ''
    for (const reader = stream.pipeThrough(new TextDecoderStream()).getReader();;) {
      const { done, value } = await reader.read()
      if (done) return { code, language }
      code += value
      if (code.length <= most) continue
      await reader.cancel()
      return null
    }
  } catch {
    return null
  }
}
