/**
 * The environment of a program where the runtime is Deno. What its process was not given reads as undefined, and what the program sets
 * is its own: Deno, which may only read the given names, would drop it without a word. Node's `process.env` goes by `Deno.env`.
 */

/** Puts the program's variables in the place of the process's. */
export function installEnvironment(): void {
  const variables = new Map(Object.entries(Deno.env.toObject()))
  Object.assign(Deno.env, {
    get: (name: string) => variables.get(String(name)),
    has: (name: string) => variables.has(String(name)),
    toObject: () => Object.fromEntries(variables),
    set(name: string, value: string) {
      variables.set(checkName(name), checkText(value))
    },
    delete(name: string) {
      variables.delete(checkName(name))
    },
  })
}

/** A name that an environment can hold. Throws `TypeError`, as Deno does. */
function checkName(name: unknown): string {
  const text = checkText(name)
  if (text !== '' && !text.includes('=')) return text
  throw new TypeError(`Cannot set a variable: its name is ${JSON.stringify(text)}, want one without '='`)
}

function checkText(value: unknown): string {
  const text = String(value)
  if (!text.includes('\0')) return text
  throw new TypeError(`Cannot set a variable: ${JSON.stringify(text)} holds a NUL`)
}
