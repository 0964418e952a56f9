import type { Context } from '@mayfly/mayfly'

const SCRIPT = new URL('../isolated/fresh_worker.ts', import.meta.url).href

/** What runs code apart without virtual machines: a worker that answers once. */
export async function GET(ctx: Context): Promise<Response> {
  const worker = new Worker(SCRIPT, { type: 'module' })
  try {
    const answer = Promise.withResolvers<unknown>()
    worker.onmessage = ({ data }) => answer.resolve(data)
    worker.onerror = (event) => {
      event.preventDefault()
      answer.reject(new Error(event.message))
    }
    return ctx.send.json(await answer.promise)
  } finally {
    worker.terminate()
  }
}
