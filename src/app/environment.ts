/**
 * True when DENO_ENV or NODE_ENV says `production`, and also when the environment may not be read: what only
 * development shows must not show by accident.
 */
export function isProduction(): boolean {
  return ['DENO_ENV', 'NODE_ENV'].some((variable) => {
    const { state } = Deno.permissions.querySync({ name: 'env', variable })
    return state !== 'granted' || Deno.env.get(variable) === 'production'
  })
}
