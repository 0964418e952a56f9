/**
 * What a page runs in development. It listens while the page is seen only, as a browser has few connections for one site. Its box is styled
 * by properties, which no content security policy forbids.
 */
export const RELOAD_SCRIPT = `(() => {
  let version
  let events
  let box
  const show = (faults) => {
    box?.remove()
    if (faults.length === 0) return
    box = document.createElement('pre')
    box.id = 'mayfly-faults'
    box.textContent = 'What was saved does not load, and this page is of before:\\n\\n' + faults.join('\\n\\n')
    Object.assign(box.style, {
      position: 'fixed', zIndex: 2147483647, left: 0, right: 0, bottom: 0, margin: 0, padding: '1rem',
      maxHeight: '50vh', overflow: 'auto', whiteSpace: 'pre-wrap', background: '#2b1113', color: '#ffd9d9',
      font: '13px/1.5 ui-monospace, monospace', borderTop: '3px solid #e5484d', textAlign: 'left',
    })
    document.body.append(box)
  }
  const listen = () => {
    events ??= new EventSource('/_mayfly/reload')
    events.onmessage = ({ data }) => {
      const served = JSON.parse(data)
      if (version !== undefined && version !== served.version) return location.reload()
      version = served.version
      show(served.faults)
    }
  }
  const pause = () => {
    events?.close()
    events = undefined
  }
  const look = () => document.visibilityState === 'hidden' ? pause() : listen()
  document.addEventListener('visibilitychange', look)
  addEventListener('pagehide', pause)
  addEventListener('pageshow', look)
  look()
})()
`
