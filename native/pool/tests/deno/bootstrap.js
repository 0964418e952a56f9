// The base of programs under stock Deno, behind frames.js: it waits for the frame that names the program, and loads it.
await import('data:text/javascript,export%20default%201')
const { name } = JSON.parse(decoder.decode(input.subarray(16, readFrame())))
import(`file://${name}`).catch((error) => {
  console.error(error)
  Deno.exit(1)
})
