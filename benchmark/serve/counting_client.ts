/** Kept-alive connections that ask counting servers, and check every answer. */

/** What became of the requests. */
export interface Asked {
  wrong: number
  /** Requests without a whole answer. */
  lost: number
  /** The first faults, in words. */
  readonly faults: string[]
}

/** How to ask. */
export interface Plan {
  readonly origin: URL
  readonly requests: number
  readonly connections: number
  /** The number that every answer must have; undefined: one after the other, each once. */
  readonly number?: number
  /** Called behind each answer with how many came. */
  readonly onAnswer: (done: number) => Promise<void> | void
}

/** Longest time for one answer; the machine's own deadline is 8 s. */
const ANSWER_MS = 60_000
const FAULTS_NAMED = 20
/** A whole head and body. */
const MOST_BYTES = 4096

/** Asks for `/0`, `/1`, … and checks status, path and number of each answer. */
export async function askAll(plan: Plan): Promise<Asked> {
  const asked: Asked = { wrong: 0, lost: 0, faults: [] }
  const numbers = new Numbers(plan)
  let [next, done] = [0, 0]
  const note = (id: number, words: string) => {
    if (asked.faults.length < FAULTS_NAMED) asked.faults.push(`request ${id}: ${words}`)
  }

  async function ask(): Promise<void> {
    let connection: Connection | undefined
    while (next < plan.requests) {
      const id = next++
      try {
        connection ??= await Connection.open(plan.origin)
        const { status, body } = await connection.ask(`/${id}`)
        const [path, number] = body.split(' ')
        const words = status !== 200 || path !== `/${id}` ? 'another answer' : numbers.take(Number(number))
        if (words !== undefined) {
          asked.wrong++
          note(id, `${words}: ${status} ${body.slice(0, 200)}`)
        }
      } catch (error) {
        asked.lost++
        note(id, (error as Error).message)
        connection?.close()
        connection = undefined
      }
      await plan.onAnswer(++done)
    }
    connection?.close()
  }

  await Promise.all(Array.from({ length: plan.connections }, ask))
  return asked
}

/** Which numbers the answers had. */
class Numbers {
  readonly #wanted: number | undefined
  readonly #connections: number
  readonly #seen: Uint8Array
  #first = 0

  constructor({ number, requests, connections }: Plan) {
    this.#wanted = number
    this.#seen = new Uint8Array(requests + 2 * connections)
    this.#connections = connections
  }

  /** Why a number is wrong. */
  take(number: number): string | undefined {
    if (this.#wanted !== undefined) return number === this.#wanted ? undefined : `want number ${this.#wanted}`
    // Answers overtake one another by as many as there are connections.
    this.#first ||= number - this.#connections
    const at = number - this.#first
    if (!(at >= 0 && at < this.#seen.length)) return 'a number far away'
    return this.#seen[at]++ > 0 ? 'a number twice' : undefined
  }
}

/** One connection, with one request at a time. */
class Connection {
  readonly #connection: Deno.Conn
  readonly #host: string
  readonly #buffer = new Uint8Array(MOST_BYTES)

  private constructor(connection: Deno.Conn, host: string) {
    this.#connection = connection
    this.#host = host
  }

  static async open({ hostname, port, host }: URL): Promise<Connection> {
    const connection = await Deno.connect({ hostname, port: Number(port) })
    connection.setNoDelay(true)
    return new Connection(connection, host)
  }

  close(): void {
    try {
      this.#connection.close()
    } catch {
      // The deadline closed it.
    }
  }

  /** Rejects when the connection ends or sixty seconds pass before the answer is whole, and when more than the answer comes. */
  async ask(path: string): Promise<{ status: number; body: string }> {
    const deadline = setTimeout(() => this.close(), ANSWER_MS)
    try {
      const request = encoder.encode(`GET ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n\r\n`)
      for (let sent = 0; sent < request.length;) {
        sent += await this.#connection.write(request.subarray(sent))
      }
      for (let have = 0;;) {
        const count = await this.#connection.read(this.#buffer.subarray(have))
        if (count === null) throw new Error(`the connection ended behind ${have} bytes of an answer`)
        have += count
        const answer = parse(decoder.decode(this.#buffer.subarray(0, have)))
        if (answer !== undefined) return answer
        if (have === MOST_BYTES) throw new Error(`no end of the answer in ${MOST_BYTES} bytes`)
      }
    } finally {
      clearTimeout(deadline)
    }
  }
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('latin1')

/** An answer with its length; undefined while it is not whole. */
function parse(text: string): { status: number; body: string } | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, end + 2))
  if (length === null) throw new Error(`an answer without a length: ${text.slice(0, 200)}`)
  const body = text.slice(end + 4)
  if (body.length > Number(length[1])) throw new Error(`more than the answer: ${text.slice(0, 200)}`)
  return body.length < Number(length[1]) ? undefined : { status: Number(text.slice(9, 12)), body }
}
