/** What the routes put into their pages. */
export const NAME = 'Ada & Co.'
/** Who looks at the page with expressions. */
export interface Visitor {
  readonly name?: string
  readonly role?: string
  readonly active?: boolean
}
export const VISITOR: Visitor = { name: NAME, role: 'owner', active: true }
export const ITEMS: readonly number[] = Array.from({ length: 50 }, (_, i) => i + 1)

/** Somebody in a list that is sent as JSON. */
export interface Person {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly tags: readonly string[]
}
/** 10 KB as JSON. */
export const PEOPLE: readonly Person[] = Array.from({ length: 120 }, (_, id) => ({
  id,
  name: `Person ${id}`,
  email: `person.${id}@example.org`,
  tags: ['member', id % 2 === 0 ? 'even' : 'odd'],
}))
