/** A channel of a request that is under way. */
import type { Extend, HostChannel, Say } from '../machines/host_channel.ts'
import { readMessage } from '../wire/message_frame.ts'
import { NativeError } from './errors.ts'

export interface Talk {
  readonly channel: HostChannel
  readonly say: Say
  readonly extend: Extend
  /** What its channel threw. */
  failure: { readonly error: unknown } | null
  /** Ends the listening to its signal. */
  readonly release: () => void
}

/** Gives whole messages to the channel; false once it has thrown: the request is to end. */
export function hearAll(talk: Talk, messages: Uint8Array<ArrayBuffer>): boolean {
  if (talk.failure !== null) return true
  try {
    for (let start = 0; start < messages.length;) {
      const read = readMessage(messages, start)
      if (read === null) throw new NativeError('panic', 'Cannot hear a request: half a message')
      start = read.end
      talk.channel.hear(read.message, talk.say, talk.extend)
    }
  } catch (error) {
    talk.failure = { error }
  }
  return talk.failure === null
}

/** Tells a channel that its request has ended; true where the channel threw. */
export function endTalk(talk: Talk): boolean {
  talk.release()
  try {
    talk.channel.end()
  } catch (error) {
    talk.failure ??= { error }
  }
  return talk.failure !== null
}
