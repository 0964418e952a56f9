import type { Context } from '@mayfly/mayfly'
import { toTexts } from '~/texts.ts'
import OpenAI from 'openai'

export const inputs = [
  { json: { prompt: 'Grüße bitte', model: 'small' } },
  { json: { prompt: '', model: 'small' } },
  { path: '?connect=1' },
]

const KEY = { apiKey: 'sk-none', maxRetries: 0 }

/** The client over a `fetch` of our own: a stream of two chunks, or an error. */
export async function POST(ctx: Context) {
  const { prompt, model } = await ctx.get.json<{ prompt: string; model: string }>()
  const client = new OpenAI({
    ...KEY,
    fetch: (_url: unknown, init?: { body?: unknown }) => {
      const asked = JSON.parse(String(init?.body))
      if (asked.messages[0].content === '') {
        return Promise.resolve(Response.json({ error: { message: 'empty prompt' } }, { status: 400 }))
      }
      const parts = ['Hallo', ` ${asked.messages[0].content}`]
      const events = parts.map((content) =>
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`
      )
      return Promise.resolve(
        new Response(`${events.join('')}data: [DONE]\n\n`, {
          headers: { 'content-type': 'text/event-stream' },
        }),
      )
    },
  })
  try {
    const stream = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: prompt }],
      stream: true,
    })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0].delta.content
    return ctx.send.text(text)
  } catch (error) {
    if (!(error instanceof OpenAI.APIError)) throw error
    return ctx.send.text(error.message, { status: error.status })
  }
}

export async function GET(ctx: Context) {
  const client = new OpenAI({ ...KEY, baseURL: 'http://127.0.0.1:4/' })
  try {
    return ctx.send.json(await client.models.list())
  } catch (error) {
    return ctx.send.json({ failed: toTexts(error) }, { status: 502 })
  }
}
