// Answers each request with its path and which one it is.
let count = 0
require('node:http').createServer((request, response) => response.end(`${request.url} ${++count}`))
  .listen(Number(process.argv[2]))
