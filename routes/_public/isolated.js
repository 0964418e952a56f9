/** The isolation page: calls the isolated routes, and shows what the machines did. */

const TIMEOUT_MS = 30_000
const POLL_MS = 1000

const machines = document.getElementById('machines')
const answer = document.getElementById('answer')
const rows = document.querySelector('#runs tbody')
const counts = {
  '/isolated/counter': document.getElementById('count-isolated'),
  '/isolated/here': document.getElementById('count-kept'),
}
let calling = null

document.querySelector('.tries').addEventListener('click', (event) => {
  const link = event.target.closest('a[data-call]')
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
  event.preventDefault()
  call(link)
})
addEventListener('pagehide', () => calling?.abort())
follow(isStarting)

/** Sends the request of a link; another click gives it up. */
async function call(link) {
  calling?.abort()
  const own = calling = new AbortController()
  for (const other of document.querySelectorAll('.tries [aria-pressed]')) {
    other.removeAttribute('aria-pressed')
  }
  link.setAttribute('aria-pressed', 'true')
  const href = link.getAttribute('href')
  const begin = performance.now()
  const slow = setTimeout(() => {
    answer.textContent = `Waiting for ${href}: a first request waits until its program has booted.`
    follow(() => calling === own)
  }, 700)
  try {
    const response = await fetch(href, {
      headers: { accept: 'application/json' },
      cache: 'no-store',
      signal: AbortSignal.any([own.signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    const body = await response.text()
    const ms = (performance.now() - begin).toFixed(1)
    answer.textContent = `${response.status} ${response.statusText}   (${ms} ms)\n\n${pretty(body)}`
    if (response.ok && counts[href]) counts[href].textContent = JSON.parse(body).count
  } catch (error) {
    if (own.signal.aborted) return
    answer.textContent = error.name === 'TimeoutError'
      ? `No answer in ${TIMEOUT_MS / 1000} seconds; the log of the server says what it does.`
      : `The request failed: ${error.message}`
  } finally {
    clearTimeout(slow)
    if (calling === own) calling = null
  }
  await refresh()
}

/** Asks for the state again and again while `goesOn`. */
async function follow(goesOn) {
  while (goesOn()) {
    await refresh()
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

function isStarting() {
  return ['waiting', 'booting'].includes(machines.dataset.phase)
}

async function refresh() {
  try {
    const response = await fetch('/isolated/runs', { cache: 'no-store', signal: AbortSignal.timeout(5000) })
    if (response.ok) show(await response.json())
  } catch {
    machines.textContent = 'The server does not answer.'
  }
}

function show({ phase, text, runs }) {
  machines.dataset.phase = phase
  machines.classList.toggle('bad', phase === 'unavailable' || phase === 'off')
  if (machines.textContent !== text) machines.textContent = text
  if (runs.length > 0) rows.replaceChildren(...runs.map(toRow))
}

function toRow({ outcome, queue, run, reset, exits, pages, vm }) {
  const row = document.createElement('tr')
  const status = document.createElement('span')
  status.className = outcome === 'answered' ? 'status' : 'status bad'
  status.textContent = outcome
  const first = document.createElement('td')
  first.append(status)
  row.append(first, ...[queue, run, reset, exits, pages, vm].map(toNumber))
  return row
}

function toNumber(value) {
  const cell = document.createElement('td')
  cell.className = 'num'
  cell.textContent = value
  return cell
}

function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body.length > 1000 ? `${body.slice(0, 1000)}\n… ${body.length - 1000} characters more` : body
  }
}
