/** The isolation page: calls the isolated routes, and shows each answer beside its request and what it cost. */

const versioned = (name) => new URL(`${name}${new URL(import.meta.url).search}`, import.meta.url)
const [{ machines }, { takeCalls }] = await Promise.all([
  import(versioned('ask.js')),
  import(versioned('calls.js')),
])

const rows = document.querySelector('#runs tbody')

takeCalls(refresh)
refresh()

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
