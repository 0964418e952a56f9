// `Deno.serve` as its manual shows it.
Deno.serve({ port: Number(Deno.args[0]), onListen() {} }, () => new Response('hello world!'))
