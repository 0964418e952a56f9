/** DENO_ENV and NODE_ENV of the tests' process: a router reads them when it gets ready. */

const NAMES = ['DENO_ENV', 'NODE_ENV'] as const

/** Sets the two variables to what is given, unset without; disposing puts back what was there. */
export function setEnvironment(
  environment: Readonly<Partial<Record<(typeof NAMES)[number], string>>>,
): Disposable {
  const before = NAMES.map((name) => [name, Deno.env.get(name)] as const)
  for (const name of NAMES) put(name, environment[name])
  return { [Symbol.dispose]: () => before.forEach(([name, value]) => put(name, value)) }
}

function put(name: string, value: string | undefined): void {
  if (value === undefined) Deno.env.delete(name)
  else Deno.env.set(name, value)
}
