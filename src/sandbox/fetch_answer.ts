/** The answer to a request of a program: whole behind its run, or from the head on, while the body comes piece by piece. */
import type { BodySource } from '../context/body_source.ts'
import type { Conversation } from '../reach/calls/conversation.ts'
import { onLeave } from '../reach/streams/client.ts'
import { RequestChannel, type RequestStream } from '../reach/streams/request_channel.ts'
import { upgradeRequest } from '../reach/streams/upgrade.ts'
import { takeBroken, takeHead, takeResponse } from './answer.ts'
import type { ResolvedLimits } from './limits.ts'
import { toRequestBody } from './request_body.ts'
import type { Done, Talk } from './runs.ts'
import type { ToStack } from './stack.ts'

export class FetchAnswer {
  readonly #request: Request
  readonly #limits: ResolvedLimits
  readonly #toStack: ToStack
  readonly #rest: BodySource | null
  readonly #sockets: Set<WebSocket>
  readonly #answer = Promise.withResolvers<Response>()
  #channel: RequestChannel | null = null
  #bodyFailure: unknown
  /** Ended because nobody waits for the answer. */
  #wasLeft = false

  /**
   * `rest`: where more of the request's body comes from; `toStack` makes stacks of its program ready for people; `sockets` has its
   * WebSocket while that is open.
   */
  constructor(
    request: Request,
    rest: BodySource | null,
    limits: ResolvedLimits,
    toStack: ToStack,
    sockets: Set<WebSocket>,
  ) {
    this.#request = request
    this.#rest = rest
    this.#limits = limits
    this.#toStack = toStack
    this.#sockets = sockets
  }

  /** What the response is a stream of; null for one that comes whole. */
  get stream(): RequestStream | null {
    return this.#channel?.stream ?? null
  }

  /** The host's side of a run: with a conversation from the beginning, else where the program says something. */
  talk(conversation: Conversation | undefined): Talk {
    this.#channel = null
    const open = () =>
      this.#channel = new RequestChannel({
        conversation: conversation ?? null,
        limits: this.#limits.options.limits,
        ...(this.#rest === null ? {} : {
          body: toRequestBody(this.#rest, this.#limits, (error) => void (this.#bodyFailure = error)),
        }),
        upgrade: (protocol) => {
          const { socket, response } = upgradeRequest(this.#request, protocol, this.#limits.options.limits)
          this.#sockets.add(socket)
          socket.addEventListener('close', () => this.#sockets.delete(socket))
          this.#answer.resolve(response)
          return socket
        },
        begin: (head, { body }) => this.#answer.resolve(takeHead(head, body)),
      })
    const slow = (callOff: () => void) =>
      onLeave(this.#request, () => {
        this.#channel === null ? callOff() : this.#channel.leave()
        this.#wasLeft = true
      })
    return conversation === undefined ? { lateChannel: open, slow } : { channel: open(), slow }
  }

  /** The response, or what `run` rejects with. Its stream ends with the run. `whole` sees one that is none before it is given. */
  async of(
    run: Promise<Done>,
    whole: (response: Response, done: Done) => void = () => {},
  ): Promise<Response> {
    try {
      return await this.#of(run, whole)
    } catch (error) {
      // What the body ended for is why the program failed.
      throw this.#bodyFailure ?? error
    }
  }

  #of(run: Promise<Done>, whole: (response: Response, done: Done) => void): Promise<Response> {
    // Nobody may have asked for it.
    run.catch(() => {}).then(() => this.#rest?.cancel())
    const { promise, resolve, reject } = this.#answer
    run.then((done) => {
      const { completion, remains } = done
      const [limits, toStack] = [this.#limits, this.#toStack]
      const { stream } = this
      const failure = this.#channel?.failure
      if (stream === null) {
        if (this.#wasLeft && completion.outcome === 'called-off') return reject(this.#request.signal.reason)
        if (failure !== undefined) return reject(takeBroken(limits, completion, remains, failure, toStack))
        const response = takeResponse(limits, completion, remains, toStack)
        whole(response, done)
        return resolve(response)
      }
      stream.over((broken) => {
        const error = takeBroken(limits, completion, remains, broken ?? failure, toStack)
        // Where its head was none.
        reject(error)
        return error
      })
    }).catch((error) => {
      // Where it was refused behind its head.
      this.stream?.over(() => error)
      reject(error)
    })
    return promise
  }
}
