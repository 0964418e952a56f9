const form = document.getElementById('say')
const talk = document.getElementById('talk')
const state = document.getElementById('socket-state')
const trip = document.getElementById('trip')
const socket = new WebSocket(
  location.href.replace(/^http/, 'ws').replace(/\/websocket.*$/, '/websocket/echo'),
)
const sent = []

state.textContent = 'Connecting'
socket.addEventListener('open', () => {
  state.textContent = 'Connected. What you send comes back.'
  form.querySelector('button').disabled = false
})
socket.addEventListener('close', ({ code }) => {
  say(`Closed with code ${code}`, 'soft')
  form.querySelector('button').disabled = true
})
socket.addEventListener('message', ({ data }) => {
  say(data, 'theirs')
  trip.textContent = `Round trip: ${(performance.now() - sent.shift()).toFixed(1)} ms`
})
form.addEventListener('submit', (event) => {
  event.preventDefault()
  const words = form.elements.words.value.trim()
  if (words === '' || socket.readyState !== WebSocket.OPEN) return
  say(words, 'mine')
  sent.push(performance.now())
  socket.send(words)
  form.reset()
})

function say(text, who) {
  const line = document.createElement('p')
  line.className = who
  line.textContent = text
  talk.append(line)
  talk.scrollTop = talk.scrollHeight
}
