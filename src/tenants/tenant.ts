/**
 * One tenant: its settings, its program, what it used.
 *
 * ```text
 * request -> rates (429) -> body (413) -> a place among `concurrency` (429) -> program -> response, or its own page for the failure
 * save, reload, another version -> read -> tried in a machine while the former serves -> takes its place, or is refused
 * ```
 */
import type { RequestState } from '../context/state.ts'
import type { Awaitable } from '../context/types.ts'
import { clientLeft } from '../errors/client_left.ts'
import { renderFailure } from '../errors/render.ts'
import type { SandboxCode } from '../sandbox/code.ts'
import type { RunReport, SandboxWorker } from '../sandbox/worker.ts'
import { Allowance, type Refused } from './allowance.ts'
import { limitedError, publicError } from './errors.ts'
import type { TenantsHost } from './host.ts'
import { errorModuleOf, renderOwnPage } from './own_pages.ts'
import { Refusals } from './refusals.ts'
import { toProps, toTenantRequest } from './request.ts'
import { admitResponse } from './response.ts'
import type { ResolvedSettings } from './settings.ts'

/** A program, and what it is known by. */
export interface TenantProgram {
  readonly code: SandboxCode
  /** Of what was saved a digest, of a function its own word; undefined where that says none. */
  readonly version: string | undefined
}

/** Gives a tenant's program as it is now. */
export type LoadProgram = () => Awaitable<TenantProgram>

/** A tenant as {@linkcode Tenants.list} tells it. */
export interface TenantRow {
  readonly name: string
  readonly group: string | undefined
  /** None for tenants of a function. */
  readonly hosts: readonly string[]
  /** `idle`: nothing was asked for yet; `failed`: there is no version that could serve. */
  readonly state: 'idle' | 'serving' | 'failed'
  readonly version: string | undefined
  /** Why the newest version is not the one that serves, or why none does. */
  readonly error: Error | undefined
}

/** What a tenant used. */
export interface TenantStats {
  readonly name: string
  readonly requests: number
  /** Requests that its program did not answer. */
  readonly failed: number
  /** Requests that were refused with 429. */
  readonly limited: number
  readonly running: number
  readonly waiting: number
  /** Milliseconds in machines, of all requests. */
  readonly machineMs: number
  /** Versions that took the place of another. */
  readonly swaps: number
}

/** A program that could not be read is asked for again after so many milliseconds. */
const RETRY_MS = 1000

/** A loaded program, numbered: the sandbox knows its versions by that. */
interface Loaded extends TenantProgram {
  readonly number: number
}

/** Answers the requests of one tenant. */
export class Tenant {
  readonly name: string
  readonly #host: TenantsHost
  readonly #allowance: Allowance
  readonly #refusals = new Refusals()
  #settings: ResolvedSettings
  #load: LoadProgram
  #program: Loaded | null = null
  #first: Promise<Loaded> | null = null
  #error: Error | undefined = undefined
  /** When the first version may be asked for again. */
  #retryAt = 0
  #numbers = 0
  /** The last change that began; the next one waits for it. */
  #change: Promise<unknown> = Promise.resolve()
  #closed = false
  #requests = 0
  #failed = 0
  #limited = 0
  #machineMs = 0
  #swaps = 0

  constructor(name: string, settings: ResolvedSettings, load: LoadProgram, host: TenantsHost) {
    this.name = name
    this.#settings = settings
    this.#load = load
    this.#host = host
    this.#allowance = new Allowance(settings)
  }

  /** Nothing of it is under way. */
  get isQuiet(): boolean {
    return this.#allowance.running === 0 && this.#allowance.waiting === 0
  }

  /** It has a program, which a change would have to replace. */
  get isLoaded(): boolean {
    return this.#program !== null
  }

  row(hosts: readonly string[]): TenantRow {
    const { name } = this
    const error = this.#error
    const state = this.#program !== null ? 'serving' : error === undefined ? 'idle' : 'failed'
    return { name, group: this.#settings.group, hosts, state, version: this.#program?.version, error }
  }

  stats(): TenantStats {
    const { running, waiting } = this.#allowance
    return {
      name: this.name,
      requests: this.#requests,
      failed: this.#failed,
      limited: this.#limited,
      running,
      waiting,
      machineMs: this.#machineMs,
      swaps: this.#swaps,
    }
  }

  /** Other settings and another way to its program from now on; rates hold at once, what is part of the program with its next version. */
  configure(settings: ResolvedSettings, load: LoadProgram): void {
    this.#settings = settings
    this.#load = load
    this.#allowance.rates = settings
    if (this.#program !== null) return
    this.#error = undefined
    this.#retryAt = 0
  }

  /** Notes that what was saved cannot be read; the former goes on. */
  refuse(error: Error): void {
    this.#error = error
    this.#host.tell('tenant:refused', { tenant: this.name, version: this.#program?.version, error })
  }

  /**
   * Reads the program anew. Resolves when it serves, or is the one that serves already; rejects with why it does not, and the former
   * goes on. Changes of one tenant follow each other.
   */
  reload(): Promise<void> {
    const change = this.#change.then(() => this.#replace())
    this.#change = change.catch(() => {})
    return change
  }

  /** Answers a request; never rejects. `ctx.error` has what went wrong. */
  async answer(ctx: RequestState): Promise<Response> {
    this.#requests++
    const refused = this.#allowance.take()
    if (refused !== null) return await this.#limit(ctx, refused)
    let entered = false
    try {
      const request = await toTenantRequest(ctx)
      const full = await this.#allowance.enter()
      if (full !== null) return await this.#limit(ctx, full)
      entered = true
      const program = this.#program ?? await this.#loadFirst()
      const response = await this.#ask(this.#workerOf(program), ctx, request, {})
      return this.#admit(ctx, response)
    } catch (error) {
      if (!entered || error !== ctx.request.signal.reason) return await this.#fail(ctx, error, entered)
      const left = ctx.error = clientLeft()
      return await renderFailure(ctx.request.headers, left, left.status, null)
    } finally {
      if (entered) this.#allowance.leave()
    }
  }

  /** Takes no more requests; those under way end. */
  close(): void {
    this.#closed = true
    this.#allowance.close()
    this.#refusals.release()
    for (const key of [this.#key, this.#errorKey]) this.#host.sandbox().drop(key)
  }

  get #key(): string {
    return `tenant ${this.name}`
  }

  get #errorKey(): string {
    return `${this.#key}, errors`
  }

  /** The program by the name that it has in the sandbox, which keeps the code that it was given first until a swap. */
  #workerOf({ code }: Loaded): SandboxWorker {
    return this.#host.sandbox().get(this.#key, code)
  }

  #ask(
    worker: SandboxWorker,
    ctx: RequestState,
    request: Request,
    props: Readonly<Record<string, unknown>>,
  ): Promise<Response> {
    const { weight } = this.#settings
    const limits = { weight, onRun: (report: RunReport) => this.#note(report) }
    return worker.entrypoint('default', { props: { ...toProps(ctx, this.name), ...props }, limits }).fetch(
      request,
    )
  }

  #note({ logs, stats: { runMicros } }: RunReport): void {
    this.#machineMs += runMicros / 1000
    this.#allowance.spend(runMicros / 1000)
    if (logs !== '') this.#host.tell('tenant:log', { tenant: this.name, text: logs })
  }

  #admit(ctx: RequestState, response: Response): Response {
    return admitResponse(ctx, response, this.#settings.may, (reason, times) => {
      this.#host.tell('tenant:denied', { tenant: this.name, reason, times })
    })
  }

  /** The first version, read by the first request; who comes meanwhile waits with it. */
  #loadFirst(): Promise<Loaded> {
    if (this.#error !== undefined && performance.now() < this.#retryAt) return Promise.reject(this.#error)
    return this.#first ??= this.#read().then((program) => {
      this.#error = undefined
      this.#host.tell('tenant:loaded', { tenant: this.name, version: program.version })
      return this.#program ??= program
    }).catch((error) => {
      this.#retryAt = performance.now() + RETRY_MS
      this.refuse(error)
      throw error
    }).finally(() => this.#first = null)
  }

  async #read(): Promise<Loaded> {
    const program = await this.#load()
    return { ...program, number: ++this.#numbers }
  }

  async #replace(): Promise<void> {
    if (this.#program === null) return void await this.#loadFirst()
    const former = this.#program
    try {
      const program = await this.#read()
      const isSame = program.version !== undefined && program.version === former.version
      if (this.#closed || (isSame && this.#error === undefined)) return
      if (!isSame) await this.#swap(program)
      this.#error = undefined
    } catch (error) {
      this.refuse(error as Error)
      throw error
    }
  }

  async #swap(program: Loaded): Promise<void> {
    const { code, number, version } = program
    const worker = this.#host.sandbox().get(this.#key, code, { version: `${number}` })
    await worker.ready()
    this.#program = program
    this.#swaps++
    this.#host.sandbox().drop(this.#errorKey)
    this.#host.tell('tenant:swap', { tenant: this.name, version })
  }

  async #limit(ctx: RequestState, refused: Refused): Promise<Response> {
    this.#limited++
    if (!this.#closed) await this.#refusals.wait()
    const error = ctx.error = limitedError(refused)
    this.#host.tell('tenant:limited', { tenant: this.name, reason: refused.by, limit: refused.limit })
    return renderOwnPage(this.#program?.code, error) ??
      await renderFailure(ctx.request.headers, error, 429, null)
  }

  /** The tenant's own answer to a failure, where it has one, else the default page. */
  async #fail(ctx: RequestState, error: unknown, entered: boolean): Promise<Response> {
    this.#failed++
    ctx.error = error
    const shown = publicError(error)
    const { method, pathname } = ctx
    this.#host.tell('tenant:failed', { tenant: this.name, error: error as Error, method, path: pathname })
    const code = this.#program?.code
    if (entered) {
      const own = await this.#askForPage(ctx, shown.status, shown.message)
      if (own !== null) return withHeaders(own, shown.headers)
    }
    return renderOwnPage(code, shown) ?? await renderFailure(ctx.request.headers, shown, shown.status, null)
  }

  /** What the tenant's `_error` module answers; null without one, and where that fails too. */
  async #askForPage(ctx: RequestState, status: number, title: string): Promise<Response | null> {
    const program = this.#program
    const mainModule = program === null ? undefined : errorModuleOf(program.code)
    if (mainModule === undefined || this.#closed) return null
    try {
      const worker = this.#host.sandbox().get(this.#errorKey, { ...program!.code, mainModule })
      const { url, headers } = ctx.request
      const response = this.#admit(
        ctx,
        await this.#ask(worker, ctx, new Request(url, { headers }), { status, title }),
      )
      const keeps = response.status >= 400
      return keeps ? response : new Response(response.body, { status, headers: response.headers })
    } catch (error) {
      const { method, pathname } = ctx
      this.#host.tell('tenant:failed', { tenant: this.name, error: error as Error, method, path: pathname })
      return null
    }
  }
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>> | undefined): Response {
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (!response.headers.has(name)) response.headers.set(name, value)
  }
  return response
}
