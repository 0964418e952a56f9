// deno-lint-ignore-file no-unused-vars -- the text behind it uses all of this
// The guest's side of frames under stock Deno. A program is this text and its own behind it.
const input = new Uint8Array(1 << 16)
const view = new DataView(input.buffer)
const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** Reads a whole frame into `input`: where its body begins, behind the header at 16. */
function readFrame() {
  for (let have = 0, want = 16; have < want;) {
    const n = Deno.stdin.readSync(input.subarray(have))
    if (n === null) Deno.exit(3)
    have += n
    if (have >= 16) want = 16 + view.getUint32(8, true) + view.getUint32(12, true)
  }
  return 16 + view.getUint32(8, true)
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
