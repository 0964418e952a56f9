import { type StandardSchema, validate } from '@mayfly/mayfly'

/** Any Standard Schema does: one of Zod, Valibot or ArkType, or one by hand like this. */
const wings: StandardSchema<unknown, { wings: number }> = {
  '~standard': {
    version: 1,
    vendor: 'mayfly-example',
    validate: (value) => {
      const wings = Number((value as { wings?: string }).wings)
      return wings === 2 || wings === 4
        ? { value: { wings } }
        : { issues: [{ message: 'a mayfly has 2 or 4 wings', path: ['wings'] }] }
    },
  },
}

export default validate({ query: wings })
