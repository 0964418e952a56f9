/**
 * Functions that run inside a page, where playwright-core sends their text: each must stand alone. JavaScript, because the
 * types of a browser would clash with Deno's.
 */

/** Pixels by which the page is wider than its window. */
export function overflow() {
  return document.documentElement.scrollWidth - document.documentElement.clientWidth
}

/** The focused element: its name, the width of its outline in pixels, and whether all of it is in view. */
export function focused() {
  const element = document.activeElement
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const box = element.getBoundingClientRect()
  return {
    name: element.getAttribute('aria-label') ?? element.innerText.trim(),
    tag: element.tagName,
    id: element.id,
    outline: outlineStyle === 'none' ? 0 : parseFloat(outlineWidth),
    inView: box.top >= 0 && box.left >= 0 && box.width > 0 && box.bottom <= innerHeight,
  }
}

/** The colour behind everything. */
export function paper() {
  return getComputedStyle(document.documentElement).backgroundColor
}

/** Empties the element that `selector` names. */
export function empty(selector) {
  document.querySelector(selector).textContent = ''
}

/** Whether the text of the first element of `selector` matches `pattern`. */
export function says({ selector, pattern }) {
  return new RegExp(pattern).test(document.querySelector(selector)?.textContent ?? '')
}

/** Whether `selector` finds at least `count` elements. */
export function hasAtLeast({ selector, count }) {
  return document.querySelectorAll(selector).length >= count
}

/** Spoils the page: pale text, too wide, a script that the policy forbids, a picture that is not there. */
export function spoil() {
  const wide = document.createElement('p')
  wide.textContent = 'pale'
  wide.style.width = '1000px'
  wide.style.color = '#ccc'
  wide.style.background = '#fff'
  wide.style.margin = '0'
  const script = document.createElement('script')
  script.textContent = 'window.isSpoilt = true'
  const picture = new Image()
  picture.src = '/no-such-picture.png'
  document.body.append(wide, script, picture)
  return new Promise((resolve) => picture.onerror = () => resolve(null))
}

/** Blocks of source whose lines leave their frame: what is wider than its block, and cannot be scrolled there. */
export function escapedSources() {
  return [...document.querySelectorAll('pre')].flatMap((block) => {
    const { overflowX } = getComputedStyle(block)
    const isCut = block.scrollWidth > block.clientWidth + 1 && !['auto', 'scroll'].includes(overflowX)
    const frame = block.parentElement.getBoundingClientRect()
    const isOut = block.getBoundingClientRect().right > frame.right + 1
    return isCut || isOut ? [block.getAttribute('aria-label') ?? block.textContent.slice(0, 40)] : []
  })
}

/** Whether lines of source are wrapped, not scrolled: none is wider than its block. */
export function widestSource() {
  return Math.max(
    0,
    ...[...document.querySelectorAll('.source[open] .code, .sample .code')].map((block) =>
      block.scrollWidth - block.clientWidth
    ),
  )
}

/** Pixels from the top of the window to the element, and its height; undefined when it is not shown. */
export function placeOf(selector) {
  const element = document.querySelector(selector)
  if (element === null || !element.checkVisibility()) return undefined
  const { top, height } = element.getBoundingClientRect()
  return { top, height, bottom: top + height }
}

/** Scrolls the window to `top`. */
export function scrollDown(top) {
  scrollTo(0, top)
}

/** Whether the preview's text is light on dark, and whether the page is dark. */
export function schemeOf() {
  const [r] = getComputedStyle(document.querySelector('h1')).color.match(/\d+/g)
  return Number(r) > 128 ? 'dark' : 'light'
}

/** Whether the page is still being read. */
export function readyState() {
  return document.readyState
}

/** Whether a script of the playground's frame reached the page around it. */
export function isStolen() {
  return 'stolen' in window
}

/** Animations that run or wait. */
export function animations() {
  return document.getAnimations().length
}

/**
 * Texts with a contrast below AA (WCAG 2.2: 4.5, or 3 when large), each as a sentence. Looks at colours alone: pictures are
 * not seen.
 */
export function contrastFaults() {
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = 1
  const brush = canvas.getContext('2d', { willReadFrequently: true })
  const faults = new Set()
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement
    if (node.textContent.trim() === '' || !element.checkVisibility({ visibilityProperty: true })) continue
    const style = getComputedStyle(element)
    if (element.closest('svg, .skip, :disabled, .fade') !== null) continue
    const ratio = contrast(luminance(style.color), luminance(backgroundOf(element)))
    const size = parseFloat(style.fontSize)
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
    if (ratio < (isLarge ? 3 : 4.5)) {
      faults.add(`contrast ${ratio.toFixed(2)} of "${node.textContent.trim().slice(0, 30)}"`)
    }
  }
  return [...faults]

  function backgroundOf(element) {
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at)
      if (rgba(backgroundColor)[3] === 255) return backgroundColor
    }
    return 'white'
  }

  function rgba(color) {
    brush.clearRect(0, 0, 1, 1)
    brush.fillStyle = color
    brush.fillRect(0, 0, 1, 1)
    return brush.getImageData(0, 0, 1, 1).data
  }

  function luminance(color) {
    const [r, g, b] = [...rgba(color)].slice(0, 3).map((value) => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }

  function contrast(a, b) {
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
  }
}

/** Pixels by which the page is scrolled. */
export function scrolled() {
  return scrollY
}
