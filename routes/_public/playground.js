/** The playground: the editor, runs, and programs in links. Without it the form and the links work by themselves. */

const versioned = (name) => new URL(`${name}${new URL(import.meta.url).search}`, import.meta.url)
const [{ machines }, { packProgram, unpackProgram }] = await Promise.all([
  import(versioned('ask.js')),
  import(versioned('program_link.js')),
])

const POLL_MS = 700
const form = document.getElementById('playground')
const area = document.getElementById('code')
const verdict = document.getElementById('verdict')
const promise = document.getElementById('promise')
const share = document.getElementById('share')
const notice = document.getElementById('machines')
const most = Number(form.dataset.most)
let editor = plainEditor()
let running = null
let isOwn = false

form.addEventListener('submit', (event) => {
  event.preventDefault()
  run()
})
form.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return
  event.preventDefault()
  run()
})
form.addEventListener('change', ({ target }) => {
  if (target.name === 'language') editor.setLanguage(target.value)
})
form.addEventListener('click', (event) => {
  const link = event.target.closest('a[data-sample]')
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
  event.preventDefault()
  choose(link)
})
share.addEventListener('click', copyLink)
share.hidden = false
addEventListener('hashchange', openLink)
area.addEventListener('input', edited)

followMachines()
await openLink()
await loadEditor()

/** A program of the list. */
function choose(link) {
  const { sample, language, code } = link.dataset
  show(code, language)
  mark(link)
  history.replaceState(null, '', `/playground?sample=${sample}`)
}

function mark(link) {
  form.querySelector('a[data-sample][aria-current]')?.removeAttribute('aria-current')
  link?.setAttribute('aria-current', 'true')
  promise.textContent = link?.dataset.promise ?? ''
  isOwn = link === null
}

function show(code, language) {
  form.elements.language.value = language
  editor.setCode(code, language)
}

/** The first change makes it the visitor's own program. */
function edited() {
  if (isOwn) return
  const link = form.querySelector('a[data-sample][aria-current]')
  if (link !== null && editor.code === link.dataset.code) return
  mark(null)
  promise.textContent = 'Your own program.'
}

async function run() {
  running?.abort()
  const own = running = new AbortController()
  const { code } = editor
  if (code.length > most) {
    return say(`The program has ${code.length} characters, want at most ${most}.`, 'refused')
  }
  form.setAttribute('aria-busy', 'true')
  const begin = performance.now()
  try {
    const response = await fetch(form.action, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ code, language: form.elements.language.value }),
      signal: own.signal,
    })
    const answer = await response.json()
    if (response.ok) tell(answer, performance.now() - begin)
    else refuse(response, answer)
  } catch (error) {
    if (!own.signal.aborted) say(`No answer: ${error.message}`, 'refused')
  } finally {
    if (running === own) form.removeAttribute('aria-busy')
  }
}

/** Everything that a program gave goes in as text. */
function tell({ outcome, verdict, text, logs, cost = {} }, ms) {
  say(verdict, outcome)
  put('answer', text)
  put('console', logs)
  for (const field of form.querySelectorAll('[data-cost]')) {
    const value = field.dataset.cost === 'trip' ? ms * 1000 : cost[field.dataset.cost]
    if (value === undefined) field.textContent = '–'
    else field.textContent = field.dataset.cost === 'pages' ? String(value) : toMs(value)
  }
}

function refuse({ status, headers }, { detail }) {
  const wait = headers.get('retry-after')
  const again = status === 429 && wait !== null ? ` Again in ${wait} s.` : ''
  say(`Not run: ${detail ?? `the server answered ${status}`}.${again}`.replace(/\.\./, '.'), 'refused')
}

function say(text, outcome) {
  verdict.textContent = text
  verdict.dataset.outcome = outcome
  if (outcome !== 'refused') return
  put('answer', '')
  put('console', '')
  for (const field of form.querySelectorAll('[data-cost]')) field.textContent = '–'
}

function put(id, text) {
  const block = document.getElementById(id)
  block.textContent = text
  block.scrollTop = 0
}

function toMs(micros) {
  return `${Number((micros / 1000).toPrecision(3))} ms`
}

/** Puts the program into the address, and the address into the clipboard. */
async function copyLink() {
  const hash = await packProgram(editor.code, form.elements.language.value)
  history.replaceState(null, '', `/playground#${hash}`)
  try {
    await navigator.clipboard.writeText(location.href)
    share.textContent = 'Copied'
  } catch {
    share.textContent = 'It is in the address bar'
  }
  setTimeout(() => share.textContent = 'Copy a link', 2500)
}

/** A program of the address is shown, and not run. */
async function openLink() {
  if (location.hash.length < 2) return
  const program = await unpackProgram(location.hash.slice(1), most)
  if (program === null) return say('The link holds no program, or one that is too long.', 'refused')
  show(program.code, program.language)
  mark(null)
  promise.textContent = 'This program came with the link. Read it, then run it.'
}

/** Where it cannot be loaded the text area stays, and says so. */
async function loadEditor() {
  let createEditor
  try {
    ;({ createEditor } = await import('/playground/editor'))
  } catch (error) {
    promise.textContent = `The editor did not load, so this is a plain field: ${error.message}`
    return
  }
  const before = area.value
  const parent = document.getElementById('editor')
  const made = createEditor({
    parent,
    nonce: document.querySelector('script[nonce]').nonce,
    label: 'Program',
    code: before,
    language: form.elements.language.value,
    onRun: run,
    onChange: edited,
  })
  area.hidden = true
  area.disabled = true
  editor = made
}

/** The text area, while the editor loads and where it cannot. */
function plainEditor() {
  return {
    get code() {
      return area.value
    },
    setLanguage() {},
    setCode(code) {
      area.value = code
    },
  }
}

/** The notice goes when the machines run. */
async function followMachines() {
  while (['waiting', 'booting'].includes(form.dataset.phase)) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    try {
      const { phase, text } = await machines()
      form.dataset.phase = phase
      notice.hidden = phase === 'ready'
      if (notice.textContent !== text) notice.textContent = text
    } catch {
      notice.textContent = 'The server does not answer.'
    }
  }
}
