/** The page of tenants: shows what each answers, and asks the visitor's version of one. Without it the links and the form work by themselves. */

const versioned = (name) => new URL(`${name}${new URL(import.meta.url).search}`, import.meta.url)
const [{ machines }, { takeCalls }] = await Promise.all([
  import(versioned('ask.js')),
  import(versioned('calls.js')),
])

const notice = document.getElementById('machines')
const form = document.getElementById('draft')
const area = document.getElementById('code')
const verdict = document.getElementById('verdict')
const most = Number(form.dataset.most)
let editor = {
  get code() {
    return area.value
  },
}
let asking = null

takeCalls(refresh)
form.addEventListener('submit', (event) => {
  event.preventDefault()
  askDraft()
})
await loadEditor()

async function askDraft() {
  asking?.abort()
  const own = asking = new AbortController()
  const { code } = editor
  if (code.length > most) return say(`The program has ${code.length} characters, want at most ${most}.`)
  form.setAttribute('aria-busy', 'true')
  try {
    const response = await fetch(form.action, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ code, path: form.elements.path.value }),
      signal: own.signal,
    })
    const answer = await response.json()
    if (response.ok) say(answer.verdict, answer.outcome, answer.text, answer.logs)
    else say(`Not asked: ${answer.detail ?? `the server answered ${response.status}`}`)
  } catch (error) {
    if (!own.signal.aborted) say(`No answer: ${error.message}`)
  } finally {
    if (asking === own) form.removeAttribute('aria-busy')
  }
  await refresh()
}

/** Everything that a program gave goes in as text. */
function say(text, outcome = 'refused', answer = '', logs = '') {
  verdict.textContent = text
  verdict.dataset.outcome = outcome
  put('answer', answer)
  put('console', logs)
}

function put(id, text) {
  const block = document.getElementById(id)
  block.textContent = text
  block.hidden = text === ''
}

/** Where it cannot be loaded the text area stays. */
async function loadEditor() {
  let createEditor
  try {
    ;({ createEditor } = await import('/playground/editor'))
  } catch {
    return
  }
  editor = createEditor({
    parent: document.getElementById('editor'),
    nonce: document.querySelector('script[nonce]').nonce,
    label: 'Program',
    code: area.value,
    language: 'ts',
    onRun: askDraft,
    onChange: () => {},
  })
  area.hidden = true
  area.disabled = true
}

async function refresh() {
  const { phase, text } = await machines()
  notice.hidden = phase === 'ready'
  if (notice.textContent !== text) notice.textContent = text
}
