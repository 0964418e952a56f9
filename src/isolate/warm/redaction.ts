/** Replaces values that must not be recorded: those under names of secrets. */

/** Stands where a secret stood. */
const REDACTED = 'redacted'

const SECRET =
  /passw|passphrase|secret|token|api[-_]?key|authori[sz]|authentic|credential|cookie|csrf|xsrf|jwt|signature|^(?:otp|pin|cvv|cvc|iban|ssn)$|card[-_]?num/i

/** Whether a header, a parameter or a member of this name holds what nobody else should know. */
function isSecretName(name: string): boolean {
  return SECRET.test(name)
}

/** The value of a header with what is secret in it replaced; its form stays, so that it is parsed as a real one. */
export function redactHeader(name: string, value: string): string {
  if (name === 'cookie') {
    return value.split(';').map((pair) => `${pair.split('=', 1)[0]!.trim()}=${REDACTED}`).join('; ')
  }
  if (!isSecretName(name)) return value
  const scheme = /^([A-Za-z][\w-]*) /.exec(value)
  return scheme === null ? REDACTED : `${scheme[1]} ${REDACTED}`
}

/** The value of a member, replaced by one of its type where the name is a secret's. */
export function redactMember(name: string, value: unknown): unknown {
  if (!isSecretName(name) || value === null || typeof value === 'boolean') return value
  return typeof value === 'number' ? 0 : REDACTED
}

/** A path with the values of secret parameters of its query replaced. */
export function redactQuery(path: string): string {
  const at = path.indexOf('?')
  if (at === -1) return path
  const query = new URLSearchParams(path.slice(at + 1))
  if (![...query.keys()].some(isSecretName)) return path
  const pairs = [...query].map(([name, value]) => [name, isSecretName(name) ? REDACTED : value])
  return `${path.slice(0, at)}?${new URLSearchParams(pairs)}`
}
