/** Programs that the playground offers. */

/** A language of the playground. */
export type Language = 'js' | 'ts'

/** A program to start from. */
export interface Sample {
  /** Its name in addresses: `/playground?sample=loop`. */
  readonly id: string
  readonly name: string
  readonly language: Language
  /** It attacks its machine, the host or the next run. */
  readonly hostile: boolean
  /** What will come of it, in a sentence. */
  readonly promise: string
  readonly code: string
}

/** Every sample, the useful ones first. */
export const SAMPLES: readonly Sample[] = [
  useful(
    'hello',
    'Hello',
    'js',
    'The default export is called in a machine of its own. What it gives is the answer.',
    `export default function () {
  console.log('This line is the console')
  return { hello: 'from a virtual machine', made: new Date() }
}
`,
  ),
  useful(
    'counter',
    'A counter',
    'js',
    'It says 1 however often you run it: the machine is reset behind every run.',
    `globalThis.count ??= 0

export default () => ++globalThis.count
`,
  ),
  useful(
    'types',
    'TypeScript',
    'ts',
    'The machine strips the types. Nothing is compiled on the server.',
    `interface Item {
  readonly name: string
  readonly cents: number
}

const total = (items: readonly Item[]): number => items.reduce((sum, { cents }) => sum + cents, 0)

export default () => {
  const items: Item[] = [{ name: 'tea', cents: 320 }, { name: 'cake', cents: 450 }]
  return \`\${items.length} items, \${total(items) / 100} euros\`
}
`,
  ),
  useful(
    'webhook',
    'A webhook',
    'ts',
    'A transform of the kind that customers write: a push in, a chat message out.',
    `interface Push {
  readonly ref: string
  readonly pusher: { readonly name: string }
  readonly commits: readonly { readonly id: string; readonly message: string }[]
}

function toMessage({ ref, pusher, commits }: Push) {
  const branch = ref.replace('refs/heads/', '')
  const lines = commits.map(({ id, message }) => \`\${id.slice(0, 7)} \${message}\`)
  return { channel: '#deploys', text: \`\${pusher.name} pushed to \${branch}\`, lines }
}

export default () =>
  toMessage({
    ref: 'refs/heads/main',
    pusher: { name: 'ada' },
    commits: [{ id: '6d39bda11c', message: 'Fix the engine' }],
  })
`,
  ),
  useful(
    'values',
    'Rich values',
    'js',
    'Answers are structured clones, not JSON: maps, dates, big integers, circles.',
    `export default () => {
  const answer = {
    map: new Map([['primes', new Set([2, 3, 5, 7])]]),
    date: new Date(0),
    big: 2n ** 100n,
    bytes: crypto.getRandomValues(new Uint8Array(8)),
    pattern: /may(fly)?/giu,
  }
  answer.self = answer
  return answer
}
`,
  ),
  useful(
    'node',
    'Node modules',
    'js',
    'The runtime is stock Deno, so the modules of Node are there.',
    `import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'

export default () => {
  const text = 'mayfly '.repeat(100)
  return {
    sha256: createHash('sha256').update(text).digest('hex'),
    gzip: \`\${text.length} -> \${gzipSync(text).length} bytes\`,
  }
}
`,
  ),
  useful(
    'error',
    'An error',
    'ts',
    'An error keeps its class, and its stack names your lines and nothing of the server.',
    `type Order = { items?: string[] }

const first = (order: Order): string => order.items![0].toUpperCase()

export default () => {
  console.log('before the error')
  return first({})
}
`,
  ),
  hostile(
    'loop',
    'Endless loop',
    'It is ended when it has used its processor time.',
    `console.log('Here I go')
for (;;);
`,
  ),
  hostile(
    'memory',
    'Memory hog',
    'It is ended at its memory limit. The server keeps its own memory.',
    `const kept = []
for (;;) kept.push(new Uint8Array(1 << 20).fill(1))
`,
  ),
  hostile(
    'poison',
    'Prototype poisoning',
    'It can only spoil its own machine. Run it again: the language is clean.',
    `const found = [typeof {}.poisoned, Math.random() === 4]

Object.prototype.poisoned = 'yes'
Array.prototype.map = () => ['poisoned']
Math.random = () => 4
Promise.prototype.then = () => {}
globalThis.stolen = 'left for the next visitor'

export default { 'found from the run before': found, 'my own machine now': [1, 2].map((n) => n) }
`,
  ),
  hostile(
    'environment',
    'Read the environment',
    'There is nothing in it: the machine was booted without the variables of the server.',
    `import process from 'node:process'

export default () => {
  const seen = { node: Object.keys(process.env), cwd: process.cwd(), pid: process.pid }
  console.log(seen)
  return Deno.env.toObject()
}
`,
  ),
  hostile(
    'file',
    'Read /etc/passwd',
    'There is no such file in the machine: none of the files of the server is.',
    `export default () => Deno.readTextFile('/etc/passwd')
`,
  ),
  hostile(
    'fetch',
    'Reach the network',
    'The machine has no network, so neither the internet nor a metadata service answers.',
    `export default async () => {
  const response = await fetch('http://169.254.169.254/latest/meta-data/')
  return await response.text()
}
`,
  ),
  hostile(
    'process',
    'Start a program',
    'There is no other program in the machine, and nothing that could start one.',
    `export default async () => {
  const { stdout } = await new Deno.Command('sh', { args: ['-c', 'id'] }).output()
  return new TextDecoder().decode(stdout)
}
`,
  ),
  hostile(
    'timers',
    'Fork bomb of timers',
    'Each timer starts two more. It ends at its limit of time or memory, and nobody else waits.',
    `const spawn = () => {
  setTimeout(spawn)
  setTimeout(spawn)
}

export default () => new Promise(spawn)
`,
  ),
  hostile(
    'flood',
    'Flood the console',
    'The console is cut at its limit, and the program is ended at its own.',
    `for (let line = 1;; line++) console.log(\`line \${line} \${'x'.repeat(80)}\`)
`,
  ),
  hostile(
    'answer',
    'Huge answer',
    'An answer over its limit is refused before the server reads it.',
    `export default () => 'x'.repeat(500_000)
`,
  ),
  hostile(
    'markup',
    'Inject markup',
    'What a program gives is shown as text, so no browser runs it.',
    `console.log('</pre><script>alert("console")</script>')

export default () => '<img src=x onerror=alert("answer")>'
`,
  ),
  hostile(
    'exit',
    'End the process',
    'It ends its own program, and nothing else.',
    `export default () => Deno.exit(1)
`,
  ),
]

/** The sample of an id; the first one where there is none. */
export function findSample(id: string | undefined): Sample {
  return SAMPLES.find((sample) => sample.id === id) ?? SAMPLES[0]
}

function useful(id: string, name: string, language: Language, promise: string, code: string): Sample {
  return { id, name, language, hostile: false, promise, code }
}

function hostile(id: string, name: string, promise: string, code: string): Sample {
  return { id, name, language: 'js', hostile: true, promise, code }
}
