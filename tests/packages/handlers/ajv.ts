import type { Context } from '@mayfly/mayfly'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'

export const inputs = [
  {
    json: {
      id: 1,
      when: '2026-01-02T03:04:05Z',
      lines: [{ sku: 'A-1', count: 2 }],
    },
  },
  { json: { id: 1.5, when: 'soon', lines: [] } },
  {
    json: {
      id: 2,
      when: '2026-01-02T03:04:05Z',
      lines: [{ sku: 'ä', count: '2' }],
      note: 'x',
    },
  },
]

const ajv = new Ajv({ allErrors: true, coerceTypes: true })
addFormats.default(ajv)
const validate = ajv.compile({
  type: 'object',
  required: ['id', 'when', 'lines'],
  additionalProperties: false,
  properties: {
    id: { type: 'integer' },
    when: { type: 'string', format: 'date-time' },
    lines: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['sku'],
        properties: {
          sku: { type: 'string', pattern: '^[A-Z]-\\d+$' },
          count: { type: 'integer', default: 1 },
        },
      },
    },
  },
})

export async function POST(ctx: Context) {
  const order = await ctx.get.json()
  if (validate(order)) return ctx.send.json({ valid: true, order })
  return ctx.send.json({
    valid: false,
    errors: ajv.errorsText(validate.errors),
  }, { status: 422 })
}
