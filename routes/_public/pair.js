/** The pair of counters: the same handler in this process and in a machine, asked side by side. */

const { ask, machines } = await import(new URL(`ask.js${new URL(import.meta.url).search}`, import.meta.url))

const POLL_MS = 700
const FIRST_ASKS = 3
const pair = document.getElementById('pair')
const state = document.getElementById('machines')
const sides = ['/isolated/here', '/isolated/counter'].map((href) => {
  const side = pair.querySelector(`[data-side="${href}"]`)
  return { href, count: side.querySelector('.count'), cost: side.querySelector('.cost') }
})
let isAsking = false

for (const button of pair.querySelectorAll('[data-times]')) {
  button.addEventListener('click', (event) => {
    event.preventDefault()
    askBoth(Number(button.dataset.times))
  })
}
follow()

/** Follows the start of the machines, then asks as often as it takes to see the difference. */
async function follow() {
  while (['waiting', 'booting'].includes(pair.dataset.phase)) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    await refresh()
  }
  if (pair.dataset.phase === 'ready') await askBoth(FIRST_ASKS)
}

/** The answer of the machine's counter comes first: it is the one that may wait for a start. */
async function askBoth(times) {
  if (isAsking) return
  isAsking = true
  pair.setAttribute('aria-busy', 'true')
  try {
    for (let i = 0; i < times; i++) {
      for (const side of sides.toReversed()) await askOne(side)
    }
    await refresh()
  } finally {
    isAsking = false
    pair.removeAttribute('aria-busy')
  }
}

async function askOne({ href, count, cost }) {
  try {
    const { ok, status, text, ms } = await ask(href)
    count.textContent = ok ? JSON.parse(text).count : '–'
    cost.textContent = ok ? `${ms.toFixed(1)} ms in this browser` : `It answered ${status}`
  } catch (error) {
    cost.textContent = `No answer: ${error.message}`
  }
}

async function refresh() {
  try {
    const { phase, text, runs } = await machines()
    pair.dataset.phase = phase
    state.hidden = phase === 'ready'
    if (state.textContent !== text) state.textContent = text
    const run = runs.find(({ outcome }) => outcome === 'answered')
    if (run === undefined) return
    document.getElementById('machine-cost').textContent =
      `${run.run} µs in the machine, ${run.reset} µs to put ${run.pages} pages back`
  } catch {
    state.hidden = false
    state.textContent = 'The server does not answer.'
  }
}
