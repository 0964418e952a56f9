/** Throws in the ways that engines tell of differently. */
export type Way = 'nothing' | 'call' | 'await' | 'timer' | 'engine' | 'stream' | 'forged'

/** Of these each says with its line what the stack should begin with. */
const WAYS: Readonly<Record<Way, () => unknown>> = {
  nothing: () => 'nothing',
  call: () => throwIt(),
  await: async () => {
    await null
    return throwIt()
  },
  timer: () => new Promise((resolve) => setTimeout(resolve, 1)).then(throwIt),
  engine: () => (null as unknown as { member: string }).member,
  stream: () =>
    new Response(
      new ReadableStream({
        pull: () => throwIt(),
      }),
    ).text(),
  forged: () => {
    const error = new Error('forged')
    const files = [
      '/etc/passwd',
      '/proc/self/environ',
      '/dev/zero',
      '/dev/zero.ts',
      new URL(import.meta.url).pathname,
    ]
    error.stack = ['Error: forged', ...files.map((file) => `    at f (file://${file}:1:1)`)].join('\n')
    throw error
  },
}

/** Runs one. */
export async function failIn(way: Way): Promise<string> {
  return String(await WAYS[way]())
}

function throwIt(): never {
  throw new Error('the helper failed')
}
