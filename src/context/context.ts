import { HttpError } from '../errors/http_error.ts'
import { RequestReader } from './get.ts'
import { ResponseSender } from './send.ts'
import { ResponseWriter } from './set.ts'
import { RequestState } from './state.ts'
import type { Awaitable, Context, ContextEnv, ContextState, RenderOptions, WorkerFace } from './types.ts'

/** One request as handlers see it. Its parts are made when they are first used. */
export class RequestContext extends RequestState implements Context {
  #get: RequestReader | null = null
  #set: ResponseWriter | null = null
  #send: ResponseSender | null = null

  get get(): RequestReader {
    return this.#get ??= new RequestReader(this)
  }

  get set(): ResponseWriter {
    return this.#set ??= new ResponseWriter(this)
  }

  get send(): ResponseSender {
    return this.#send ??= new ResponseSender(this)
  }

  get state(): ContextState {
    return this.bag ??= {}
  }

  get env(): ContextEnv {
    return this.host.env
  }

  get worker(): WorkerFace | undefined {
    return this.host.worker
  }

  render(name: string, data: Record<string, unknown> = {}, options?: RenderOptions): Awaitable<Response> {
    return this.host.render(this, name, data, options)
  }

  fail(status: number, message?: string): never {
    throw new HttpError(status, message)
  }
}
