/**
 * An attacker of the neighbours' measurement, in a process of its own: each connection asks for one thing after another, whatever
 * the answer is. Its own work is little, as the cores are shared with all others. Arguments: origin, path, connections, and a host other than the origin's. Writes a
 * line when each connection has an answer; asks until its standard input ends, then writes how many answers there were.
 */

const WHOLE = 64 << 10

/** Asks on so many connections until the signal; gives the number of answers. `onReady` is called when each has had one. */
export async function attack(
  origin: URL,
  path: string,
  connections: number,
  signal: AbortSignal,
  onReady: () => void,
  host = origin.host,
): Promise<number> {
  const request = new TextEncoder().encode(
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: application/problem+json\r\n\r\n`,
  )
  let answers = 0
  let unready = connections
  const attacking = Array.from({ length: connections }, async () => {
    let isFirst = true
    while (!signal.aborted) {
      using connection = await Deno.connect({ hostname: origin.hostname, port: Number(origin.port) })
      connection.setNoDelay(true)
      const buffer = new Uint8Array(WHOLE)
      while (!signal.aborted && await askOn(connection, request, buffer)) {
        answers++
        if (isFirst && --unready === 0) onReady()
        isFirst = false
      }
    }
  })
  await Promise.all(attacking)
  return answers
}

/** Sends the request and reads its answer; false when the connection ends first, or the answer has no length or is over 64 KiB. */
async function askOn(connection: Deno.Conn, request: Uint8Array, buffer: Uint8Array): Promise<boolean> {
  try {
    await connection.write(request)
    let have = 0
    let length = 0
    do {
      const count = await connection.read(buffer.subarray(have))
      if (count === null || count === 0) return false
      have += count
      if (length === 0) length = measure(new TextDecoder('latin1').decode(buffer.subarray(0, have)))
    } while (length === 0 || have < length)
    return true
  } catch {
    return false
  }
}

/** The length of the response that begins here; 0 while that is unknown. */
function measure(text: string): number {
  const end = text.indexOf('\r\n\r\n')
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, end + 2))
  return end === -1 || length === null ? 0 : end + 4 + Number(length[1])
}

if (import.meta.main) {
  const [origin, path, connections, host] = Deno.args
  const over = new AbortController()
  const attacking = attack(
    new URL(origin),
    path,
    Number(connections),
    over.signal,
    () => console.log('ready'),
    host,
  )
  await Deno.stdin.read(new Uint8Array(1))
  over.abort()
  console.log(await attacking)
}
