/** A stream without end, for a client that does not read it. */
export const isolated = {
  warmup: 0,
  limits: { streamMs: 600_000, streamIdleMs: 3000, streamBytes: 67_108_864 },
}

export function GET(): Response {
  const piece = new Uint8Array(50_000)
  return new Response(
    new ReadableStream({ pull: (controller) => controller.enqueue(piece) }, { highWaterMark: 0 }),
  )
}
