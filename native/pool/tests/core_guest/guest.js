// A server of frames under the small guest, which keeps what it is told. A secret takes the place of the word in capitals.
const host = globalThis.__mayfly
let count = 0
const kept = copies('SECRET')
let given

const actions = {
  hello: () => `${++count} ${kept.length} ${given}`,
  keep(secret) {
    given = copies(secret)
    return 'kept'
  },
  settle() {
    host.settleProgram()
    return 'settled'
  },
}

function copies(secret) {
  return [secret.repeat(100), ...Array.from({ length: 100 }, () => host.encode(secret))]
}

for (;;) {
  const frame = host.receive()
  if (frame === null) host.exit(3)
  const [[line]] = frame
  const [name, word] = line.split(' ')
  const answer = actions[name](word)
  host.sendText('{}', answer, answer.length, 1e9)
}
