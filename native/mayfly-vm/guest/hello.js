// The smallest handler: counts in a global, answers with the count and what it was sent.
const input = new Uint8Array(1 << 16)
const view = new DataView(input.buffer)
const decoder = new TextDecoder()
const encoder = new TextEncoder()
let count = 0

function readFrame() {
  let have = 0
  let want = 16
  while (have < want) {
    const n = Deno.stdin.readSync(input.subarray(have))
    if (n === null) Deno.exit(0)
    have += n
    if (have >= 16) want = 16 + view.getUint32(8, true) + view.getUint32(12, true)
  }
  const body = 16 + view.getUint32(8, true)
  return decoder.decode(input.subarray(body, want))
}

function writeFrame(text) {
  const body = encoder.encode(text)
  const frame = new Uint8Array(18 + body.length)
  frame.set([77, 65, 89, 70, 1, 2, 0, 0, 2])
  new DataView(frame.buffer).setUint32(12, body.length, true)
  frame.set([123, 125], 16)
  frame.set(body, 18)
  for (let at = 0; at < frame.length;) at += Deno.stdout.writeSync(frame.subarray(at))
}

async function handle(body) {
  count++
  if (body === 'spin') { for (;;); }
  if (body === 'roots') {
    let sum = 0
    for (let i = 0; i < 50000; i++) sum += Math.sqrt(i)
    return `${count} ${sum}`
  }
  if (body === 'hog') {
    globalThis.kept = Array.from({ length: 200000 }, (_, i) => ({ i }))
    return `${count} ${globalThis.kept.length}`
  }
  if (body === 'timer') await new Promise((done) => setTimeout(done, 20))
  if (body === 'uuid') return crypto.randomUUID()
  return `${count} hello ${body}`
}

for (;;) writeFrame(await handle(readFrame()))
