const clock = document.getElementById('clock')
const state = document.getElementById('clock-state')
const source = new EventSource('/sse/clock')

source.addEventListener('tick', ({ data, lastEventId }) => {
  clock.textContent = JSON.parse(data).iso.slice(11, 19)
  state.textContent = `The server's time, UTC. Tick ${lastEventId}`
})
source.addEventListener('error', () => state.textContent = 'The stream broke off; the browser tries again')
addEventListener('pagehide', () => source.close())
