import type { Context } from '@mayfly/mayfly'
import { LRUCache } from 'lru-cache'

export const inputs = [
  { path: '?max=10&n=15' },
  { path: '?max=100&n=400' },
]

export function GET(ctx: Context) {
  const [max, n] = ['max', 'n'].map((name) => Number(ctx.get.query(name)))
  const dropped: number[] = []
  const cache = new LRUCache<number, string>({
    max,
    dispose: (_, key, reason) => void (reason === 'evict' && dropped.push(key)),
  })
  for (let key = 0; key < n; key++) {
    cache.set(key, `wert ${key}`)
    cache.get((key * 7) % n)
  }
  return ctx.send.json({ size: cache.size, dropped, keys: [...cache.keys()] })
}
