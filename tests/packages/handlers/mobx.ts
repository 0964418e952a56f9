import type { Context } from '@mayfly/mayfly'
import { autorun, makeAutoObservable, toJS } from 'mobx'

export const inputs = [
  { json: { items: [{ name: 'Käse', price: 5.5, count: 2 }, { name: 'Brot', price: 3, count: 1 }] } },
  {
    json: {
      items: Array.from(
        { length: 60 },
        (_, index) => ({ name: `ü${index}`, price: index / 4, count: index % 3 }),
      ),
    },
  },
]

interface Item {
  readonly name: string
  readonly price: number
  count: number
}

class Cart {
  items: Item[] = []
  discount = 0
  constructor() {
    makeAutoObservable(this)
  }
  get total() {
    return this.items.reduce((sum, { price, count }) => sum + price * count, 0) * (1 - this.discount)
  }
  add(item: Item) {
    this.items.push(item)
  }
}

export async function POST(ctx: Context) {
  const cart = new Cart()
  const totals: number[] = []
  const stop = autorun(() => totals.push(Math.round(cart.total * 100) / 100))
  for (const item of (await ctx.get.json<{ items: Item[] }>()).items) cart.add(item)
  cart.discount = 0.1
  stop()
  return ctx.send.json({ totals, items: toJS(cart.items).length })
}
