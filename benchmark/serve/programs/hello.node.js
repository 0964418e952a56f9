// Node's own server.
require('node:http').createServer((_, response) => {
  response.setHeader('content-type', 'text/plain')
  response.end('hello world!')
}).listen(Number(process.argv[2]))
