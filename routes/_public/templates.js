/** Renders a template while it is written. */

const form = document.getElementById('draft')
const spent = document.getElementById('spent')
const failed = document.getElementById('failed')
const page = document.getElementById('page')
const markup = document.getElementById('markup')
const root = document.documentElement
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
  preview(html)
  markup.querySelector('code').textContent = html
}

/** The frame takes the theme of the page: it has no style of its own. */
function preview(html) {
  const scheme = root.dataset.theme ?? 'light dark'
  page.querySelector('iframe').srcdoc = `<!doctype html><meta name=color-scheme content="${scheme}">${html}`
}

new MutationObserver(() => preview(markup.querySelector('code').textContent))
  .observe(root, { attributeFilter: ['data-theme'] })
