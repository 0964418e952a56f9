// The base of programs under stock Deno: it waits for the frame that names the program, and loads it.
const input = new Uint8Array(4096)
const view = new DataView(input.buffer)
await import('data:text/javascript,export%20default%201')
let have = 0
let want = 16
while (have < want) {
  const n = Deno.stdin.readSync(input.subarray(have))
  if (n === null) Deno.exit(3)
  have += n
  if (have >= 16) want = 16 + view.getUint32(8, true) + view.getUint32(12, true)
}
const { name } = JSON.parse(new TextDecoder().decode(input.subarray(16, 16 + view.getUint32(8, true))))
import(`file://${name}`).catch((error) => {
  console.error(error)
  Deno.exit(1)
})
