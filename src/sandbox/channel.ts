/** What a program may ask of the host while it runs, and how its answer may come. */
import { Conversation, type Reach } from '../reach/calls/conversation.ts'
import type { CheckedCode } from './code.ts'
import type { FetchAnswer } from './fetch_answer.ts'
import type { Run } from './runs.ts'

/** The host's side of a run. `answer`: of a request, whose response may be a stream. */
export function toTalk(
  { reach }: CheckedCode,
  name: string | undefined,
  answer: FetchAnswer | null,
  notice?: Reach['notice'],
): Pick<Run, 'talk' | 'stream'> {
  const conversation = reach === null
    ? undefined
    : new Conversation({ ...reach, program: name ?? '', notice })
  if (answer !== null) return { talk: answer.talk(conversation), stream: () => answer.stream }
  return { talk: conversation === undefined ? {} : { channel: conversation } }
}
