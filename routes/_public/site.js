/** Every page: the theme, the contents menu, and requests that are tried in place. Listens on the document alone. */

const root = document.documentElement
root.classList.add('js')

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target : null
  if (target?.closest('#theme')) toggleTheme()
  for (const menu of document.querySelectorAll('.contents[open]')) {
    if (!menu.contains(target)) menu.open = false
  }
  const link = target?.closest('a[data-try]')
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
    event.preventDefault()
    tryRequest(link)
  }
})

document.addEventListener('keydown', (event) => {
  const menu = document.querySelector('.contents[open]')
  if (event.key !== 'Escape' || !menu) return
  menu.open = false
  menu.querySelector('summary').focus()
})

document.addEventListener('focusin', (event) => {
  for (const menu of document.querySelectorAll('.contents[open]')) {
    if (!menu.contains(event.target)) menu.open = false
  }
})

/** Goes to the other theme and keeps it in a cookie, so that the server can render it from the first byte. */
function toggleTheme() {
  const current = root.dataset.theme ??
    (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')
  root.dataset.theme = current === 'dark' ? 'light' : 'dark'
  document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`
}

let lastEtag = ''

/** Sends the request of a link and shows the answer right below the link. */
async function tryRequest(link) {
  const { answerOf } = await import(new URL(`answer.js${new URL(import.meta.url).search}`, import.meta.url))
  const output = answerOf(link)
  const headers = JSON.parse((link.dataset.headers ?? '{}').replace('$etag', lastEtag.replaceAll('"', '\\"')))
  const begin = performance.now()
  try {
    const response = await fetch(link.getAttribute('href'), {
      method: link.dataset.method ?? 'GET',
      headers,
      body: link.dataset.body,
      cache: 'no-store',
    })
    const body = await response.text()
    const ms = Math.round(performance.now() - begin)
    lastEtag = response.headers.get('etag') ?? lastEtag
    const lines = [...response.headers]
      .filter(([name]) =>
        !/^(content-security|cross-origin|origin-agent|referrer-p|x-(content|dns|down|frame|perm))/.test(name)
      )
      .map(([name, value]) => `${name}: ${value}`)
    const shown = body.length > 3000
      ? `${body.slice(0, 3000)}\n… ${body.length - 3000} characters more`
      : body
    output.textContent = `${response.status} ${response.statusText}   (${ms} ms)\n${
      lines.join('\n')
    }\n\n${shown}`
  } catch (error) {
    output.textContent = `The request failed: ${error.message}`
  }
  output.scrollTop = 0
}
