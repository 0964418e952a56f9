// A server of frames under stock Deno, behind frames.js, whose requests are hostile in all ways that JavaScript has.
let count = 0
const list = []
const simd = Uint8Array.fromHex(
  '0061736d010000000105016000017f03020100070501016600000a0b0109004107fd11fd1b000b',
)

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))
const refused = (f) => {
  try {
    f()
    return 'done'
  } catch (e) {
    return e.name
  }
}

const actions = {
  hello: () => `${++count} ${list.length} ${globalThis.left} ${Object.prototype.left} ${[].left}`,
  dirty() {
    count += 100
    list.push(...Array(100000).keys())
    globalThis.left = new Float64Array(6 << 20).fill(1)
    Object.prototype.left = 1
    Array.prototype.left = 2
    globalThis.timer = setInterval(() => count++, 1)
    return 'dirtied'
  },
  keep(secret) {
    globalThis.given = [secret.repeat(100), ...Array.from({ length: 100 }, () => encoder.encode(secret))]
    return 'kept'
  },
  simd: () => String(new WebAssembly.Instance(new WebAssembly.Module(simd)).exports.f()),
  trap: () => refused(() => recurse(0)),
  throws() {
    throw { not: 'an error' }
  },
  timer: () => sleep(20).then(() => 'slept'),
  timers: async () => {
    await Promise.all(Array.from({ length: 10000 }, (_, i) => sleep(i % 50)))
    return 'all'
  },
  storm: async () => {
    let n = 0
    const step = async () => {
      n++
      if (n < 50000) await Promise.all([Promise.resolve().then(step)])
    }
    await step()
    return `${n}`
  },
  read: () => refused(() => Deno.readTextFileSync('/etc/passwd')),
  env: () => refused(() => Deno.env.get('HOME')),
  run: () => refused(() => new Deno.Command('/bin/ls').outputSync()),
  kill: () => refused(() => Deno.kill(1)),
  connect: () => Deno.connect({ port: 80 }).then(() => 'connected', (e) => e.name),
  log: () => (console.error('a line'), 'logged'),
  json: () =>
    JSON.stringify(JSON.parse(JSON.stringify(Array.from({ length: 1000 }, (_, i) => ({ i }))))).length
      .toString(),
  collect() {
    for (let i = 0; i < 300; i++) Array.from({ length: 1000 }, (_, j) => ({ j }))
    return 'collected'
  },
  uuid: () => crypto.randomUUID(),
  exit: () => Deno.exit(9),
  spin() {
    for (;;);
  },
  'spin-await': async () => {
    for (;;) await null
  },
  regexp: () => String(/^(a+)+$/.test('a'.repeat(40) + 'b')),
  memory() {
    const all = []
    for (;;) all.push(new Array(1000).fill(all.length))
  },
  buffers() {
    const all = []
    for (;;) all.push(new Uint8Array(1 << 20).fill(1))
  },
  never: () => new Promise(() => {}),
  garbage() {
    Deno.stdout.writeSync(encoder.encode('no frame at all, but long enough to be seen'))
    return 'more'
  },
  output() {
    const head = new Uint8Array([77, 65, 89, 70, 1, 2, 0, 0, 2, 0, 0, 0, 255, 255, 255, 63])
    Deno.stdout.writeSync(head)
    for (;;) Deno.stdout.writeSync(input)
  },
  flood() {
    for (let i = 0; i < 2000; i++) Deno.stderr.writeSync(input)
    return 'flooded'
  },
}
const draw = (count) => (crypto.getRandomValues(new Uint32Array(count)), 'drawn')
const recurse = (n) => recurse(n + 1) + 1

for (;;) {
  const what = decoder.decode(input.subarray(16, readFrame()))
  let answer
  try {
    const [name, word] = what.split(' ')
    answer = what.startsWith('{') ? draw(JSON.parse(what).count) : await actions[name](word)
  } catch (e) {
    answer = `threw ${typeof e}`
  }
  writeFrame(answer)
}
