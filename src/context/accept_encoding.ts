/**
 * The coding to answer with, RFC 9110 section 12.5.3. Of those that the client likes best the first of `supported` wins:
 * browsers give every coding the same weight and name gzip first. Undefined: send it as it is.
 */
export function chooseEncoding(header: string | undefined, supported: readonly string[]): string | undefined {
  if (header === undefined) return undefined
  const weights = new Map<string, number>()
  for (const item of header.split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
    if (name === '') continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(name === 'x-gzip' ? 'gzip' : name!, weight === undefined ? 1 : toWeight(weight.slice(2)))
  }
  const others = weights.get('*') ?? 0
  let best: string | undefined
  let most = 0
  for (const name of supported) {
    const weight = weights.get(name) ?? others
    if (weight > most) [best, most] = [name, weight]
  }
  return most < (weights.get('identity') ?? 0) ? undefined : best
}

function toWeight(text: string): number {
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0
}
