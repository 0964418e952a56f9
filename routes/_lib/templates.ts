/** Renders what a visitor wrote, and turns every failure into text. */
import type { Engine } from '@mayfly/mayfly'
import { TemplateError } from '@mayfly/mayfly'

/** What became of a template: `html`, or `error`. `ms` is the time of compiling and rendering. */
export interface Attempt {
  readonly html?: string
  readonly error?: string
  readonly ms: string
}

/** What the page shows first. */
export const EXAMPLE = {
  template: `<h1>{{ name }}</h1>
<p>Lives for {{ days == 1 ? 'a day' : days + ' days' }}.</p>
<ul>
{{#each stages as stage}}
  <li>{{ @index + 1 }}/{{ @length }} {{ stage }}{{#if @last}}, then gone{{/if}}</li>
{{else}}
  <li>No stages</li>
{{/each}}
</ul>
{{> card title=place?.river ?? 'Unknown waters'}}
`,
  data: JSON.stringify(
    {
      name: 'Ephemera <danica>',
      days: 1,
      stages: ['egg', 'nymph', 'subimago', 'imago'],
      place: { river: 'Test' },
    },
    null,
    2,
  ),
} as const

/** Renders `template` with `json` as its data. Never throws for what a visitor can write. */
export async function renderAttempt(engine: Engine, template: string, json: string): Promise<Attempt> {
  const begin = performance.now()
  const ms = () => (performance.now() - begin).toFixed(2)
  let data: unknown
  try {
    data = json.trim() === '' ? {} : JSON.parse(json)
  } catch (error) {
    return { error: `The data is no JSON: ${(error as Error).message}`, ms: ms() }
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    return { error: 'The data is no object: want { … } around it', ms: ms() }
  }
  try {
    return { html: await engine.renderString(template, data), ms: ms() }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return {
      error:
        `${error.reason}\n\nline ${error.line}, column ${error.column}\n${error.excerpt}\n${error.caret}`,
      ms: ms(),
    }
  }
}
