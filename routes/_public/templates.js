/** The playground renders while you write. */

const form = document.getElementById('playground')
const spent = document.getElementById('spent')
const failed = document.getElementById('failed')
const page = document.getElementById('page')
const markup = document.getElementById('markup')
let timer
let latest = 0

form.addEventListener('input', () => {
  clearTimeout(timer)
  timer = setTimeout(render, 200)
})
form.addEventListener('submit', (event) => {
  event.preventDefault()
  render()
})

async function render() {
  const number = ++latest
  const { template, data } = form.elements
  const response = await fetch(form.action, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ template: template.value, data: data.value }),
  })
  if (number !== latest) return
  show(response.ok ? await response.json() : { error: `The server answered ${response.status}`, ms: '0' })
}

function show({ html, error, ms }) {
  failed.hidden = error === undefined
  page.hidden = markup.hidden = error !== undefined
  failed.querySelector('pre').textContent = error ?? ''
  spent.textContent = `${ms} ms to compile and render`
  if (error !== undefined) return
  page.querySelector('iframe').srcdoc = html
  markup.querySelector('code').textContent = html
}
