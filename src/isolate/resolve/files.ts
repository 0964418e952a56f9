/** What lies at a path. */

/** Whether a file is there, at the end of its symbolic links. */
export async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false
    throw error
  }
}
