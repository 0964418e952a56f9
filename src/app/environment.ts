/**
 * True when DENO_ENV is `development`. What only development shows must not show by accident: without the variable, with any other value,
 * and where the environment may not be read, it is production.
 */
export function isDevelopment(): boolean {
  const { state } = Deno.permissions.querySync({ name: 'env', variable: 'DENO_ENV' })
  return state === 'granted' && Deno.env.get('DENO_ENV') === 'development'
}
