/** The other ways to run code apart: a worker, or a process, for each request. */

/** What a fresh worker posts, once. Rejects with what it throws. */
export async function askWorker(script: string): Promise<unknown> {
  const worker = new Worker(script, { type: 'module' })
  try {
    const answer = Promise.withResolvers<unknown>()
    worker.onmessage = ({ data }) => answer.resolve(data)
    worker.onerror = (event) => {
      event.preventDefault()
      answer.reject(new Error(event.message))
    }
    return await answer.promise
  } finally {
    worker.terminate()
  }
}

/** The JSON that a fresh process without any permission prints: it runs a file, or `-` with a text on its standard input. */
export async function askProcess(script: string, text = ''): Promise<unknown> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ['run', '--no-prompt', '--no-check', '--no-config', '--no-remote', script],
    stdin: text === '' ? 'null' : 'piped',
    stdout: 'piped',
    stderr: 'inherit',
  }).spawn()
  const output = child.output()
  if (text !== '') await new Blob([text]).stream().pipeTo(child.stdin)
  const { success, stdout } = await output
  if (!success) throw new Error(`Cannot answer: ${script} failed, want a text on its standard output`)
  return JSON.parse(new TextDecoder().decode(stdout))
}
