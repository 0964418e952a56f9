import type { Context } from '@mayfly/mayfly'
import { buildSchema, graphql } from 'graphql'

export const inputs = [
  { json: { query: '{ books(author: "Ann") { title year } }' } },
  {
    json: {
      query: 'query ($id: Int!) { book(id: $id) { title author { name books { title } } } }',
      variables: { id: 2 },
    },
  },
  { json: { query: '{ books { pages } }' } },
  {
    json: {
      query: 'mutation { add(title: "Über alles", author: "Bob") { id title } }',
    },
  },
]

const schema = buildSchema(`
  type Author { name: String! books: [Book!]! }
  type Book { id: Int! title: String! year: Int author: Author! }
  type Query { books(author: String): [Book!]! book(id: Int!): Book }
  type Mutation { add(title: String!, author: String!): Book! }
`)
const BOOKS = [
  { id: 1, title: 'One', year: 1999, by: 'Ann' },
  { id: 2, title: 'Two', year: 2004, by: 'Bob' },
  { id: 3, title: 'Three', year: null, by: 'Ann' },
]
type Row = (typeof BOOKS)[number] | {
  id: number
  title: string
  year: null
  by: string
}

function toBook({ by, ...rest }: Row): object {
  return {
    ...rest,
    author: () => ({
      name: by,
      books: () => BOOKS.filter((book) => book.by === by).map(toBook),
    }),
  }
}

const rootValue = {
  books: ({ author }: { author?: string }) =>
    BOOKS.filter(({ by }) => author === undefined || by === author).map(toBook),
  book: ({ id }: { id: number }) => BOOKS.filter((book) => book.id === id).map(toBook)[0],
  add: ({ title, author }: { title: string; author: string }) =>
    toBook({ id: BOOKS.length + 1, title, year: null, by: author }),
}

export async function POST(ctx: Context) {
  const { query, variables } = await ctx.get.json<
    { query: string; variables?: Record<string, unknown> }
  >()
  return ctx.send.json(
    await graphql({
      schema,
      source: query,
      rootValue,
      variableValues: variables,
    }),
  )
}
