/** The isolation page: calls the isolated routes, and shows each answer beside its request and what it cost. */

const versioned = (name) => new URL(`${name}${new URL(import.meta.url).search}`, import.meta.url)
const [{ ask, machines }, { answerOf }] = await Promise.all([
  import(versioned('ask.js')),
  import(versioned('answer.js')),
])

const SHOWN = 1000
const rows = document.querySelector('#runs tbody')
const calls = new Map()

document.querySelector('.tries').addEventListener('click', (event) => {
  const link = event.target.closest('a[data-call]')
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
  event.preventDefault()
  call(link)
})
addEventListener('pagehide', () => calls.forEach((own) => own.abort()))
refresh()

/** Sends the request of a link; another click on it gives the first up. */
async function call(link) {
  calls.get(link)?.abort()
  const own = new AbortController()
  calls.set(link, own)
  const answer = answerOf(link)
  answer.setAttribute('aria-busy', 'true')
  try {
    const { status, statusText, text, ms } = await ask(link.getAttribute('href'), own.signal)
    answer.textContent = `${status} ${statusText}   (${ms.toFixed(1)} ms)\n\n${pretty(text)}`
  } catch (error) {
    if (own.signal.aborted) return
    answer.textContent = `No answer: ${error.message}`
  }
  answer.removeAttribute('aria-busy')
  calls.delete(link)
  await refresh()
}

async function refresh() {
  const { runs } = await machines()
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
    return body.length > SHOWN ? `${body.slice(0, SHOWN)}\n… ${body.length - SHOWN} characters more` : body
  }
}
