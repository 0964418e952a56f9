import type { Context } from '@mayfly/mayfly'
import Fuse from 'fuse.js'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { path: '?q=jurgen' },
  { path: '?q=s%C3%A3o' },
  { path: '?q=zzzz' },
]

const fuse = new Fuse(PEOPLE, {
  keys: ['name', 'address.city', { name: 'tags', weight: 2 }],
  includeScore: true,
  threshold: 0.4,
})

export function GET(ctx: Context) {
  const found = fuse.search(ctx.get.query('q')!)
  return ctx.send.json(
    found.map(({ item, score }) => [item.name, item.address.city, Math.round(score! * 1e6)]),
  )
}
