// The base of programs under the small guest: it waits for the frame that names the program, and loads it.
const host = globalThis.__mayfly
host.settleBase()
const [[line]] = host.receive()
import(`file://${JSON.parse(line).name}`).catch((error) => {
  host.log(host.encode(`${error}\n`))
  host.exit(1)
})
