/** Prints where workerd lies; runs under this folder's `deno.json`, which knows the package. */
console.log(import.meta.resolve('workerd/bin/workerd'))
