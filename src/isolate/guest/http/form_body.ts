/**
 * Forms as bodies. The runtime draws a form's boundary from a generator that the snapshot froze, so every request would have the same one.
 * Here the body is made with a boundary of the request's own numbers (HTML, "multipart/form-data encoding algorithm").
 */
const NativeBlob = Blob
const NativeFormData = FormData

/** The init of a `Request` or `Response`, or the body itself: what is a form is a blob with its type afterwards. */
export function toFormBlob(body: unknown): unknown {
  return body instanceof NativeFormData ? encodeForm(body) : body
}

/** The init of a `Request`, with a blob in place of a form. */
export function withFormBlob(init: unknown): unknown {
  if (typeof init !== 'object' || init === null) return init
  const { body } = init as RequestInit
  if (!(body instanceof NativeFormData)) return init
  return Object.create(init, { body: { value: encodeForm(body), enumerable: true } })
}

function encodeForm(form: FormData): Blob {
  let boundary = '----'
  // 84 bits and more.
  while (boundary.length < 32) boundary += Math.floor(Math.random() * 10)
  const parts: BlobPart[] = []
  for (const [name, value] of form) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escape(toCrLf(name))}"`
    if (typeof value === 'string') {
      parts.push(`${head}\r\n\r\n${toCrLf(value)}\r\n`)
    } else {
      const type = value.type || 'application/octet-stream'
      parts.push(
        `${head}; filename="${escape(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`,
        value,
        '\r\n',
      )
    }
  }
  parts.push(`--${boundary}--`)
  return new NativeBlob(parts, { type: `multipart/form-data; boundary=${boundary}` })
}

function toCrLf(text: string): string {
  return text.replace(/\r(?!\n)|(?<!\r)\n/g, '\r\n')
}

function escape(text: string): string {
  return text.replace(/\n/g, '%0A').replace(/\r/g, '%0D').replace(/"/g, '%22')
}
