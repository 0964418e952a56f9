/** A channel of a request that is under way. */
import type { Extend, HostChannel, HostMessage, Say } from '../machines/host_channel.ts'

export interface Talk {
  readonly channel: HostChannel
  readonly say: Say
  readonly extend: Extend
  /** What its channel threw. */
  failure: { readonly error: unknown } | null
  /** Ends the listening to its signal. */
  readonly release: () => void
}

/** Gives a message to the channel; false once it has thrown: the request is to end. */
export function hear(talk: Talk, message: HostMessage): boolean {
  if (talk.failure !== null) return true
  try {
    talk.channel.hear(message, talk.say, talk.extend)
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
