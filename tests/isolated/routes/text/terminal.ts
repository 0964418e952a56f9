import process from 'node:process'
import tty from 'node:tty'

export const isolated = { runtime: 'deno', warmup: [{ path: '/terminal' }] }

/** As loggers ask. */
export function GET() {
  const { stdout, stderr } = process
  const terminals = [tty.isatty(1), tty.isatty(2), Deno.stderr.isTerminal()]
  return Response.json([...terminals, stdout.isTTY === true, stderr.isTTY === true])
}
