/** Throws in the ways that engines tell of differently. */
export type Way = 'nothing' | 'call' | 'await' | 'timer' | 'engine' | 'stream'

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
}

/** Runs one. */
export async function failIn(way: Way): Promise<string> {
  return String(await WAYS[way]())
}

function throwIt(): never {
  throw new Error('the helper failed')
}
