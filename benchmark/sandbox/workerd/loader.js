/** What workerd runs: the program of a request in an isolate of its own, from the worker loader. The path says how. */

function toCode(source) {
  return {
    compatibilityDate: '2026-01-01',
    mainModule: 'main.js',
    modules: { 'main.js': source },
    globalOutbound: null,
  }
}

export default {
  async fetch(request, { LOADER }) {
    if (request.method !== 'POST') return new Response('ready')
    const { name, source, order } = await request.json()
    const isNamed = new URL(request.url).pathname === '/get'
    const worker = isNamed ? LOADER.get(name, () => toCode(source)) : LOADER.load(toCode(source))
    return Response.json(await worker.getEntrypoint().total(order))
  },
}
