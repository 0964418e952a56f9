// Answers each request with its path and which one it is.
let count = 0
Deno.serve(
  { port: Number(Deno.args[0]), onListen() {} },
  (request) => new Response(`${new URL(request.url).pathname} ${++count}`),
)
