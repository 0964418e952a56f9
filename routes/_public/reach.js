/** The page of reach: shows each answer below its request, and asks for an address that the visitor writes. */

const versioned = (name) => new URL(`${name}${new URL(import.meta.url).search}`, import.meta.url)
const [{ machines }, { call, takeCalls }] = await Promise.all([
  import(versioned('ask.js')),
  import(versioned('calls.js')),
])

const notice = document.getElementById('machines')
const form = document.getElementById('own')
const list = document.querySelector('.tries')

takeCalls(refresh)
form.addEventListener('submit', (event) => {
  event.preventDefault()
  const { value } = form.elements.url
  call(ownLink(value), refresh)
})

/** The last item of the list, which is the visitor's own. */
function ownLink(url) {
  const link = list.querySelector('a[data-own]') ?? addLink()
  link.href = `/reach/ask?url=${encodeURIComponent(url)}`
  link.querySelector('code').textContent = url
  return link
}

function addLink() {
  const item = list.lastElementChild.cloneNode(true)
  item.querySelector('.answer')?.remove()
  const link = item.querySelector('a')
  link.dataset.own = ''
  item.querySelector('.why').textContent = 'yours'
  list.append(item)
  return link
}

async function refresh() {
  const { phase, text } = await machines()
  notice.hidden = phase === 'ready'
  if (notice.textContent !== text) notice.textContent = text
}
