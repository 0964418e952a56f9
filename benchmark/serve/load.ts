/**
 * The load of `mayfly serve`, in a process of its own. Arguments: origin, path, connections, seconds of warm-up, seconds that count; the
 * body that every answer must have is read from the standard input. Prints one `LoopResult` as JSON.
 */
import { runLoop } from '../isolated/closed_loop.ts'

if (import.meta.main) {
  const [origin, path, connections, warmUp, seconds] = Deno.args
  const body = await new Response(Deno.stdin.readable).text()
  const options = { connections: Number(connections), warmUp: Number(warmUp), seconds: Number(seconds) }
  console.log(JSON.stringify(await runLoop(new URL(origin), path, body, options)))
}
