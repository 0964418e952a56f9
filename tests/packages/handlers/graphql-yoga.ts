import { createSchema, createYoga } from 'graphql-yoga'

export const inputs = [
  { json: { query: '{ hello(name: "Jürgen") }' } },
  { path: '?query=%7Blist%7Bid%20label%7D%7D' },
  { json: { query: '{ nothing }' } },
]

const yoga = createYoga({
  graphqlEndpoint: '/graphql-yoga',
  logging: false,
  graphiql: false,
  schema: createSchema({
    typeDefs: `
      type Item { id: Int! label: String! }
      type Query { hello(name: String): String! list: [Item!]! }
    `,
    resolvers: {
      Query: {
        hello: (_: unknown, { name = 'world' }: { name?: string }) => `hello ${name}`,
        list: () => Array.from({ length: 20 }, (_, id) => ({ id })),
      },
      Item: { label: ({ id }: { id: number }) => `item ${id}` },
    },
  }),
})

export default yoga
