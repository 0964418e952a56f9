/** The worker page: runs the sums, and pings the server while they run. */

const line = document.querySelector('#trace polyline')
const pings = document.getElementById('pings')
const slowest = document.getElementById('slowest')
const tasks = document.getElementById('tasks')
const verdict = document.getElementById('verdict')
const buttons = document.querySelectorAll('#runs button')

document.getElementById('runs').addEventListener('submit', async (event) => {
  event.preventDefault()
  const { note } = event.target.querySelector('button').dataset
  for (const button of buttons) button.disabled = true
  tasks.replaceChildren()
  verdict.textContent = `${note}: running`
  const times = []
  let isRunning = true
  const pinging = ping(times, () => isRunning)
  try {
    const begin = performance.now()
    const response = await fetch(event.target.action, {
      method: 'POST',
      headers: { accept: 'application/json' },
    })
    const ms = Math.round(performance.now() - begin)
    isRunning = false
    await pinging
    if (response.ok) show(await response.json(), note, ms)
    else verdict.textContent = `${note}: the server answered ${response.status}`
  } catch (error) {
    verdict.textContent = `${note}: ${error.message}`
  } finally {
    isRunning = false
    for (const button of buttons) button.disabled = false
  }
})

async function ping(times, goesOn) {
  do {
    const begin = performance.now()
    await fetch('/workers/ping', { cache: 'no-store' })
    times.push(performance.now() - begin)
    draw(times)
    await new Promise((resolve) => setTimeout(resolve, 15))
  } while (goesOn())
}

function draw(times) {
  const most = Math.max(...times)
  const scale = Math.max(50, most)
  const step = 600 / Math.max(times.length - 1, 1)
  line.setAttribute(
    'points',
    times.map((ms, i) => `${(i * step).toFixed(1)},${(96 - ms / scale * 90).toFixed(1)}`).join(' '),
  )
  pings.textContent = String(times.length)
  slowest.textContent = `${most.toFixed(1)} ms`
}

function show(rows, note, ms) {
  tasks.replaceChildren(...rows.map(({ status, ms }) => {
    const item = document.createElement('li')
    item.className = status === 200 ? 'done' : 'refused'
    item.textContent = status === 200 ? `${Math.round(ms)} ms` : String(status)
    return item
  }))
  const done = rows.filter(({ status }) => status === 200).length
  verdict.textContent = `${note}: ${done} done, ${rows.length - done} refused, ${ms} ms in all`
}
