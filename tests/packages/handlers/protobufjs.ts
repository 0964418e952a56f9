import type { Context } from '@mayfly/mayfly'
import protobuf from 'protobufjs'
import { PEOPLE } from '~/texts.ts'

export const inputs = [
  { json: { people: PEOPLE } },
  { json: { people: [{ name: 'Größe', age: 2 ** 31 - 1, tags: [] }] } },
  { json: { people: [{ name: 5 }] } },
]

const { root } = protobuf.parse(`syntax = "proto3";
message Person { string name = 1; int32 age = 2; repeated string tags = 3; Address address = 4; }
message Address { string city = 1; string zip = 2; }
message List { repeated Person people = 1; }`)
const List = root.lookupType('List')

export async function POST(ctx: Context) {
  const value = await ctx.get.json<Record<string, unknown>>()
  const fault = List.verify(value)
  if (fault !== null) return ctx.send.text(fault, { status: 422 })
  const bytes = List.encode(List.fromObject(value)).finish()
  const back = List.toObject(List.decode(bytes)) as { people: unknown[] }
  return ctx.send.custom(Uint8Array.from(bytes), { headers: { 'x-people': String(back.people.length) } })
}
