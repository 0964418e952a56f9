import type { Context } from '@mayfly/mayfly'
import { h } from 'preact'
import { useMemo } from 'preact/hooks'
import { renderToString } from 'preact-render-to-string'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { path: '?q=a' },
  { path: '?q=%C3%B6' },
]

interface Person {
  readonly name: string
  readonly age: number
  readonly tags: readonly string[]
}

function Row({ person }: { person: Person }) {
  return h(
    'li',
    { class: person.age >= 18 ? 'adult' : 'child' },
    person.name,
    person.tags.map((tag) => h('em', null, tag)),
  )
}

function List({ query }: { query: string }) {
  const found = useMemo(
    () => PEOPLE.filter(({ name }) => name.toLowerCase().includes(query)),
    [query],
  )
  return h(
    'section',
    { 'data-query': query },
    h('h1', null, `${found.length} found`),
    h('ul', null, found.map((person) => h(Row, { person }))),
  )
}

export function GET(ctx: Context) {
  return ctx.send.html(
    renderToString(h(List, { query: ctx.get.query('q') ?? '' })),
  )
}
