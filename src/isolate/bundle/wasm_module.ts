/** WebAssembly by an import statement, as Deno has it: the module's exports are those of its instance, its imports are modules. */

/** The source of the module for the file at `path`. Throws what WebAssembly throws for one that is none. */
export async function wasmModule(path: string): Promise<string> {
  const module = await WebAssembly.compile(await Deno.readFile(path))
  const imported = new Set(WebAssembly.Module.imports(module).map(({ module }) => module))
  const exported = WebAssembly.Module.exports(module).map(({ name }) => JSON.stringify(name))
  const sources = [...imported].map((name) => JSON.stringify(name))
  return [
    `import bytes from ${JSON.stringify(path)} with { type: 'bytes' }`,
    ...sources.map((name, index) => `import * as imported${index} from ${name}`),
    `const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {`,
    ...sources.map((name, index) => `  ${name}: imported${index},`),
    '})',
    ...exported.map((name, index) => `const exported${index} = exports[${name}]`),
    `export { ${exported.map((name, index) => `exported${index} as ${name}`).join(', ')} }`,
  ].join('\n')
}
