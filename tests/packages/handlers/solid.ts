import type { Context } from '@mayfly/mayfly'
import { createMemo, createSignal, For, Show } from 'solid-js'
import { createComponent, escape, renderToString, ssr } from 'solid-js/web'
import { PEOPLE, type Person } from '~/texts.ts'

export const inputs = [
  { path: '?q=a' },
  { path: '?q=%C3%B6%C3%B6' },
]

// What Solid's compiler makes of components with JSX.
function Row(props: { person: Person }) {
  return ssr(
    ['<li class="', '">', '</li>'],
    props.person.age >= 18 ? 'adult' : 'child',
    escape(props.person.name),
  )
}

function List(props: { query: string }) {
  const [query] = createSignal(props.query)
  const found = createMemo(() => PEOPLE.filter(({ name }) => name.toLowerCase().includes(query())))
  return ssr(
    ['<ul>', '</ul>'],
    createComponent(Show, {
      get when() {
        return found().length > 0
      },
      fallback: ssr('<p>nobody</p>') as never,
      get children() {
        return createComponent(For, {
          get each() {
            return found()
          },
          children: (person: Person) => createComponent(Row as never, { person } as never),
        } as never)
      },
    } as never),
  )
}

export function GET(ctx: Context) {
  return ctx.send.html(
    renderToString(() => createComponent(List as never, { query: ctx.get.query('q') ?? '' } as never)),
  )
}
