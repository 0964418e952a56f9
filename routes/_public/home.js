/** The home page: a clock, the time of this request, and the log as it grows. */

const age = document.getElementById('age')
const requests = document.getElementById('requests')
const body = document.querySelector('#log tbody')
const hatched = Date.parse(age.dateTime)

setInterval(() => {
  const seconds = Math.max(0, Math.floor((Date.now() - hatched) / 1000))
  age.textContent = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
    .map((part) => String(part).padStart(2, '0')).join(':')
}, 1000)

const timing = performance.getEntriesByType('navigation')[0]?.serverTiming?.find((entry) =>
  entry.name === 'total'
)
if (timing) document.getElementById('total').replaceChildren(`${timing.duration.toFixed(2)} `, small('ms'))

const source = new EventSource('/events/feed?kind=request:complete')
let count = Number(requests.textContent)
source.addEventListener('entry', ({ data }) => {
  const entry = JSON.parse(data)
  count++
  requests.textContent = String(count)
  body.querySelector('[data-empty]')?.remove()
  body.prepend(row(entry))
  while (body.rows.length > 10) body.rows[body.rows.length - 1].remove()
})
addEventListener('pagehide', () => source.close())

function row({ status, method, url, ms }) {
  const line = document.createElement('tr')
  line.className = 'fade'
  const badge = document.createElement('span')
  badge.className = `status ${status >= 500 ? 'bad' : status >= 400 ? 'warn' : ''}`
  badge.textContent = status
  line.insertCell().append(badge)
  line.insertCell().textContent = method
  line.insertCell().textContent = url
  const time = line.insertCell()
  time.className = 'num'
  time.textContent = `${ms.toFixed(2)} ms`
  return line
}

function small(text) {
  const element = document.createElement('small')
  element.textContent = text
  return element
}
