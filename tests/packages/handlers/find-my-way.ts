import type { Context } from '@mayfly/mayfly'
import Router from 'find-my-way'

export const inputs = [
  { path: '?url=/users/42/posts/gr%25C3%25BC%25C3%259Fe' },
  { path: '?url=/files/a/b/c.txt' },
  { path: '?url=/nothing' },
]

const router = Router({ caseSensitive: false })
const none = () => {}
for (let index = 0; index < 100; index++) router.on('GET', `/section-${index}/:id`, none, { index })
router.on('GET', '/users/:id(^\\d+)/posts/:slug', none, { name: 'post' })
router.on('GET', '/files/*', none, { name: 'file' })

export function GET(ctx: Context) {
  const found = router.find('GET', ctx.get.query('url')!)
  const sections = Array.from(
    { length: 200 },
    (_, index) => router.find('GET', `/section-${index}/x`)?.store.index ?? -1,
  )
  return ctx.send.json({ params: found?.params ?? null, store: found?.store ?? null, sections })
}
