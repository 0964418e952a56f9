/** Keys and values in Valkey, or a Redis of version 7 on, which servers of many machines share. */
import { createClient, RESP_TYPES } from '@redis/client'
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { toPrintable } from '../../errors/printable.ts'
import { fullError, noNumberError } from './rules.ts'
import { type KvBackend, KvError, type KvRules, type Stored } from './store.ts'
import { VALKEY_SCRIPT } from './valkey_script.ts'

/** Milliseconds in which a connection is made, and in which an operation is answered. */
const CONNECT_MS = 3000
const ANSWER_MS = 5000
/** Milliseconds in which no other connection is tried after one that ended. */
const PAUSE_MS = 200
/** Operations that wait for their answers. */
const MAX_WAITING = 16_384
const SCHEMES: Readonly<Record<string, string>> = {
  'valkey:': 'redis:',
  'redis:': 'redis:',
  'valkeys:': 'rediss:',
  'rediss:': 'rediss:',
}
const OPTIONS = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } }

type Client = ReturnType<typeof toClient>
type Argument = string | Buffer

let digest: string | undefined

/** A store on a server, by `valkey://[user:password@]host[:port][/database]`; `valkeys://` for TLS. */
export class ValkeyStore implements KvBackend, Disposable {
  readonly #url: URL
  readonly #answerMs: number
  #client: Promise<Client> | null = null
  /** Of the connection that is there. */
  #open: Client | null = null
  #waiting = 0
  /** When the last connection ended. */
  #endedAt = -Infinity
  /** Stderr was told, and nothing has succeeded since. */
  #told = false
  #closed = false

  /** Connects at the first use. `answerMs`: in which an operation is answered. Throws `TypeError` for what is no such URL. */
  constructor(url: string, { answerMs = ANSWER_MS }: { readonly answerMs?: number } = {}) {
    this.#url = toServerUrl(url)
    this.#answerMs = answerMs
  }

  async get(space: string, key: string): Promise<Stored | undefined> {
    const value = await this.#run(space, 'get', key)
    return value === null ? undefined : fromKept(value as Buffer)
  }

  async set(
    space: string,
    key: string,
    value: Stored,
    expires: number | null,
    rules: KvRules,
    now: number,
  ): Promise<void> {
    const told = await this.#run(space, 'set', key, ...toBounds(expires, now, rules), toKept(value))
    checkTold(told, rules)
  }

  async delete(space: string, key: string): Promise<boolean> {
    return await this.#run(space, 'delete', key) === 1
  }

  async list(space: string, prefix: string, after: string, limit: number): Promise<string[]> {
    const from = Buffer.compare(Buffer.from(after), Buffer.from(prefix)) >= 0 ? `(${after}` : `[${prefix}`
    const keys = await this.#run(space, 'list', prefix, from, `${limit}`)
    return (keys as Buffer[]).map((key) => key.toString('utf8'))
  }

  async compareAndSet(
    space: string,
    key: string,
    expected: Stored | undefined,
    value: Stored | undefined,
    expires: number | null,
    rules: KvRules,
    now: number,
  ): Promise<boolean> {
    const [old, next] = [expected, value].map((side) => side === undefined ? '' : toKept(side))
    const told = await this.#run(space, 'compare', key, ...toBounds(expires, now, rules), old!, next!)
    checkTold(told, rules)
    return told === 1
  }

  async increment(
    space: string,
    key: string,
    by: number,
    expires: number | null,
    rules: KvRules,
    now: number,
  ): Promise<number> {
    const told = await this.#run(space, 'increment', key, ...toBounds(expires, now, rules), `${by}`)
    checkTold(told, rules)
    return Number(String(told))
  }

  /** Ends its connection; what is asked afterwards fails. */
  close(): void {
    this.#closed = true
    this.#open?.destroy()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async #run(space: string, ...words: readonly Argument[]): Promise<unknown> {
    if (this.#closed) throw new KvError('Cannot use the store of keys: it is closed')
    if (this.#waiting >= MAX_WAITING) throw new KvError('Cannot use the store of keys: too much waits for it')
    this.#waiting++
    this.#open?.ref()
    try {
      const client = await this.#connect()
      const reply = await this.#ask(client, space, words)
      this.#told = false
      return reply
    } catch (error) {
      this.#tell(error as Error)
      // Its words may tell a program where the server is.
      throw new KvError('Cannot use the store of keys: it does not answer', { cause: error })
    } finally {
      this.#waiting--
      // A connection that nothing waits for keeps no process alive.
      if (this.#waiting === 0) this.#open?.unref()
    }
  }

  async #ask(client: Client, space: string, words: readonly Argument[]): Promise<unknown> {
    // The part in braces decides the slot of a cluster.
    const name = `mayfly:{${encodeURIComponent(space)}}`
    const rest = ['4', `${name}:values`, `${name}:keys`, `${name}:expiry`, `${name}:bytes`, ...words]
    digest ??= createHash('sha1').update(VALKEY_SCRIPT).digest('hex')
    // Answers come in order: whatever waits behind one that does not come is lost with it.
    const timer = setTimeout(() => this.#lose(client), this.#answerMs)
    try {
      return await client.sendCommand(['EVALSHA', digest, ...rest], OPTIONS)
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
      return await client.sendCommand(['EVAL', VALKEY_SCRIPT, ...rest], OPTIONS)
    } finally {
      clearTimeout(timer)
    }
  }

  #connect(): Promise<Client> {
    if (this.#client === null) {
      if (performance.now() < this.#endedAt + PAUSE_MS) {
        return Promise.reject(new Error('the last connection has just ended'))
      }
      this.#client = this.#make()
    }
    return this.#client
  }

  async #make(): Promise<Client> {
    const client = toClient(this.#url, this.#answerMs)
    // An operation that it breaks off is told so; the next one connects anew.
    client.on('error', () => this.#lose(client))
    client.on('end', () => this.#lose(client))
    // Over the connection's own time: the server's first words count too.
    const timer = setTimeout(() => client.destroy(), this.#answerMs)
    try {
      await client.connect()
      if (this.#closed) throw new Error('the store was closed')
    } catch (error) {
      this.#forget()
      if (client.isOpen) client.destroy()
      throw error
    } finally {
      clearTimeout(timer)
    }
    this.#open = client
    return client
  }

  #lose(client: Client): void {
    if (client === this.#open) this.#forget()
    if (client.isOpen) client.destroy()
  }

  #forget(): void {
    this.#open = null
    this.#client = null
    this.#endedAt = performance.now()
  }

  /** Once for each outage: a program may ask as often as it likes. */
  #tell({ message }: Error): void {
    if (this.#told || this.#closed) return
    this.#told = true
    console.error(`mayfly: kv at ${this.#url.host}: ${toPrintable(message)}`)
  }
}

function toClient(url: URL, answerMs: number) {
  return createClient({
    url: url.href,
    socket: { connectTimeout: Math.min(CONNECT_MS, answerMs), reconnectStrategy: false },
    commandsQueueMaxLength: MAX_WAITING,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
  })
}

function toServerUrl(text: string): URL {
  // The text may have a password in it: it stays out of the error.
  const wanted = "want 'valkey://host:port', or 'valkeys://' for TLS"
  if (!URL.canParse(text)) throw new TypeError(`Cannot make kv: url is no URL, ${wanted}`)
  const { protocol, hostname } = new URL(text)
  const scheme = SCHEMES[protocol]
  if (scheme === undefined || hostname === '') {
    throw new TypeError(`Cannot make kv: url begins with '${protocol}', ${wanted}`)
  }
  return new URL(scheme + text.slice(protocol.length))
}

function toBounds(expires: number | null, now: number, { maxKeys, maxBytes }: KvRules): string[] {
  return [`${expires === null ? -1 : expires - now}`, `${maxKeys}`, `${maxBytes}`]
}

function toKept(value: Stored): Argument {
  return typeof value === 'number' ? `n${value}` : Buffer.concat([Buffer.from('b'), value])
}

function fromKept(kept: Buffer): Stored {
  return kept[0] === 0x6e ? Number(kept.toString('latin1', 1)) : new Uint8Array(kept.subarray(1))
}

function checkTold(told: unknown, rules: KvRules): void {
  if (!(told instanceof Buffer)) return
  const text = told.toString('latin1')
  if (text === 'full') throw fullError(rules)
  if (text === 'no number') throw noNumberError()
}
