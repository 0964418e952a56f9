/** Links with `data-call`: each shows its answer right below it, in place of leaving the page. */

const versioned = (name) => new URL(`${name}${new URL(import.meta.url).search}`, import.meta.url)
const [{ ask }, { answerOf }] = await Promise.all([
  import(versioned('ask.js')),
  import(versioned('answer.js')),
])

const SHOWN = 1000
const calls = new Map()

/** Takes the clicks on such links of this page; their lists have `data-taken` then. `onAnswer` is called behind each answer. */
export function takeCalls(onAnswer = () => {}) {
  for (const list of document.querySelectorAll('.tries')) {
    list.addEventListener('click', (event) => {
      const link = event.target.closest('a[data-call]')
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
      event.preventDefault()
      call(link, onAnswer)
    })
    list.dataset.taken = ''
  }
  addEventListener('pagehide', () => calls.forEach((own) => own.abort()))
}

/** Sends the request of a link; another one of it gives the first up. */
export async function call(link, onAnswer = () => {}) {
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
  await onAnswer()
}

function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body.length > SHOWN ? `${body.slice(0, SHOWN)}\n… ${body.length - SHOWN} characters more` : body
  }
}
