import type { Context } from '@mayfly/mayfly'
import * as $ from 'svelte/internal/server'
import { render } from 'svelte/server'
import { PEOPLE, type Person } from '~/texts.ts'

export const inputs = [
  { path: '?title=Leute' },
  { path: '?title=%3Cgr%C3%B6%C3%9Fe%3E' },
]

interface Props {
  readonly title: string
  readonly people: readonly Person[]
}

/** What Svelte's compiler makes of a component with a title and a list. */
// deno-lint-ignore no-explicit-any
function Page(renderer: any, { title, people }: Props) {
  renderer.push(`<h1>${$.escape(title)}</h1> <!--[-->`)
  const list = $.ensure_array_like(people)
  for (let index = 0; index < list.length; index++) {
    const person = list[index] as Person
    renderer.push(
      `<li${$.attr_class('row', undefined, { adult: person.age >= 18 })}>${$.escape(person.name)}</li>`,
    )
  }
  renderer.push('<!--]-->')
}

export async function GET(ctx: Context) {
  const props = { title: ctx.get.query('title'), people: PEOPLE }
  const { head, body } = await render(Page as never, { props: props as never })
  return ctx.send.html(`<!doctype html><head>${head}</head><body>${body}</body>`)
}
