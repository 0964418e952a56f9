/** The program that every way runs, what it is given, and what it must answer. Each number makes a program that nobody has seen. */

/** What a program is called with. */
export interface Order {
  readonly customer: string
  readonly lines: readonly { readonly name: string; readonly price: number; readonly count: number }[]
}

/** What a server is sent for each request, as JSON. */
export interface Ask {
  readonly name: string
  readonly source: string
  readonly order: Order
}

/** The first number: all answers are equally long. */
export const FIRST_NUMBER = 1_000_000_000

/** The order of every request. */
export const ORDER: Order = {
  customer: 'Acme of London',
  lines: Array.from({ length: 10 }, (_, i) => ({ name: `item ${i}`, price: 100 + i, count: i + 1 })),
}

/** What a server is asked with this number. */
export function toAsk(number: number): Ask {
  return { name: `program-${number}`, source: toSource(number), order: ORDER }
}

/** A module whose function `total` stands alone and in the default export, which is how each way wants it. */
export function toSource(number: number): string {
  return `${toFunction(number)}export { total }
export default { total }
`
}

/** The same behind a `fetch`, which a route and a program have in common. */
export function toFetchSource(number: number): string {
  return `${toFunction(number)}export default {
  async fetch(request) {
    return Response.json(total(await request.json()))
  },
}
`
}

function toFunction(number: number): string {
  return `const surcharge = ${number}
function toLine({ name, price, count }) {
  return { name, amount: price * count }
}
function total(order) {
  const lines = order.lines.map(toLine).filter(({ amount }) => amount > 0)
  const sum = lines.reduce((all, { amount }) => all + amount, 0)
  return { customer: order.customer.toUpperCase(), lines: lines.length, total: sum + surcharge }
}
`
}

/** The answer to the request of this number, as JSON. Worked out apart from the program. */
export function toAnswer(number: number): string {
  let sum = number
  for (let i = 0; i < 10; i++) sum += (100 + i) * (i + 1)
  return `{"customer":"ACME OF LONDON","lines":10,"total":${sum}}`
}
