// Asks the server that its request names, by `http` and by `fetch`, and answers what that says.
import http from 'node:http'

http.createServer((request, response) => {
  const [, how, to] = request.url.split('/')
  const url = `http://${to}/asked`
  const fail = (error) => response.end(`${how}: ${error.cause?.code ?? error.code}`)
  if (how === 'fetch') {
    fetch(url, { method: 'POST', body: 'x'.repeat(300_000) })
      .then(async (answer) => response.end(`fetch: ${answer.status} ${await answer.text()}`))
      .catch(fail)
    return
  }
  http.get(url, (answer) => {
    response.write(`get: ${answer.statusCode} `)
    answer.pipe(response)
  }).on('error', fail)
}).listen(8080)
