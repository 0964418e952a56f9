/** The clock of the page of reach: shows each event of the stream, while the page is seen. */

const versioned = (name) => new URL(`${name}${new URL(import.meta.url).search}`, import.meta.url)
const { machines } = await import(versioned('ask.js'))

const STARTING_MS = 1000
const clock = document.getElementById('clock')
const state = document.getElementById('clock-state')
let source = null
let waits

document.addEventListener('visibilitychange', follow)
addEventListener('pagehide', stop)
follow()

async function follow() {
  stop()
  if (document.hidden) return
  const { phase, text } = await machines()
  if (phase === 'ready') return open()
  state.textContent = text
  if (phase !== 'off' && phase !== 'unavailable') waits = setTimeout(follow, STARTING_MS)
}

function open() {
  stop()
  const stream = source = new EventSource('/reach/clock')
  stream.addEventListener('tick', ({ data, lastEventId }) => {
    clock.textContent = JSON.parse(data).iso.slice(11, 19)
    state.textContent = `The machine's time, UTC. Tick ${lastEventId}`
  })
  stream.addEventListener('error', () => {
    const ended = stream.readyState === EventSource.CLOSED
    state.textContent = ended ? 'The stream was refused' : 'The stream ended; the browser asks again'
  })
}

function stop() {
  clearTimeout(waits)
  source?.close()
  source = null
}
