/** A process that answers its only request. */
console.log(JSON.stringify({ hello: 'world!' }))
