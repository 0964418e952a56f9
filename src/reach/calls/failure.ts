/** What an error of the host tells a program: its class, message and code, and no more. */
import { ERROR_CLASSES } from '../../values/format.ts'

const MAX_MESSAGE = 4096

/** A copy without stack, cause, and whatever else hangs on it. */
export function toTold(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error('The host failed')
  const Class = Object.values(ERROR_CLASSES).findLast((known) => thrown instanceof known)!
  const told = new Class(String(thrown.message).slice(0, MAX_MESSAGE).toWellFormed())
  const name = String(thrown.name).slice(0, 128).toWellFormed()
  if (name !== told.name) Object.defineProperty(told, 'name', { value: name, configurable: true })
  const { code } = thrown as { code?: unknown }
  if (typeof code === 'string' && code.length <= 128) Object.assign(told, { code })
  return told
}
