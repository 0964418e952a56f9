import { escape } from '@std/html'
import type { PublicFailure } from './failure.ts'
import { textResponse } from './text_response.ts'

const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{max-width:60rem;margin:12vh auto;padding:0 1.5rem}
code{overflow-wrap:anywhere}
h1{font-size:1.4rem;margin:0 0 .5rem}h1 b{opacity:.5;margin-right:.6rem;font-weight:400}
pre{padding:1rem;overflow:auto;border:1px solid #8884;border-radius:.5rem;font:13px/1.6 ui-monospace,monospace}
h2{font-size:1.1rem;overflow-wrap:anywhere;margin:1.5rem 0 .5rem}summary{cursor:pointer}
mark{background:#e5484d33;color:inherit;display:block}`

/** A plain error page. `extra` is HTML that goes below the message; the caller has escaped it. */
export function renderPage(failure: PublicFailure, extra = ''): Response {
  const { status, title, detail } = failure
  const message = detail === undefined ? '' : `<p>${escape(detail)}</p>`
  const body = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${status} ${
    escape(title)
  }</title>
<style>${STYLE}</style></head>
<body><main><h1><b>${status}</b>${escape(title)}</h1>${message}${extra}</main></body>
</html>
`
  return textResponse(failure, body, 'text/html; charset=utf-8')
}
