import type { Context } from '@mayfly/mayfly'
import { toTexts } from '~/texts.ts'
import Anthropic from '@anthropic-ai/sdk'

export const inputs = [
  { json: { prompt: 'Grüße bitte' } },
  { json: { prompt: 'zu viel '.repeat(50) } },
  { path: '?connect=1' },
]

const KEY = { apiKey: 'none', maxRetries: 0 }

/** The client over a `fetch` of our own. */
export async function POST(ctx: Context) {
  const { prompt } = await ctx.get.json<{ prompt: string }>()
  const client = new Anthropic({
    ...KEY,
    fetch: (_url: unknown, init?: { body?: unknown }) => {
      const { messages, model } = JSON.parse(String(init?.body))
      const { content } = messages[0]
      if (content.length > 100) {
        return Promise.resolve(
          Response.json({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, {
            status: 529,
          }),
        )
      }
      return Promise.resolve(
        Response.json({
          id: 'm',
          model,
          role: 'assistant',
          content: [{ type: 'text', text: `Hallo: ${content}` }],
        }),
      )
    },
  })
  try {
    const message = await client.messages.create({
      model: 'small',
      max_tokens: 50,
      messages: [{ role: 'user', content: prompt }],
    })
    return ctx.send.json(message.content)
  } catch (error) {
    if (!(error instanceof Anthropic.APIError)) throw error
    return ctx.send.json({ status: error.status, type: error.constructor.name }, { status: 503 })
  }
}

export async function GET(ctx: Context) {
  const client = new Anthropic({ ...KEY, baseURL: 'http://127.0.0.1:4/' })
  try {
    return ctx.send.json(await client.models.list())
  } catch (error) {
    return ctx.send.json({ failed: toTexts(error) }, { status: 502 })
  }
}
