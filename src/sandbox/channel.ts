/** What a program may ask of the host while it runs. */
import { Conversation, type Reach } from '../reach/calls/conversation.ts'
import type { CheckedCode } from './code.ts'

/** The host's side of a run; undefined for a program that may ask nothing. */
export function toChannel(
  { reach }: CheckedCode,
  name: string | undefined,
  notice?: Reach['notice'],
): Conversation | undefined {
  return reach === null ? undefined : new Conversation({ ...reach, program: name ?? '', notice })
}
