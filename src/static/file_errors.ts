const MISSING_CODES: ReadonlySet<string | undefined> = new Set(['ENAMETOOLONG', 'ELOOP', 'EINVAL'])

/** True for an error that only says that the path leads to no file which may be read. */
export function isMissing(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    error instanceof Deno.errors.FilesystemLoop || error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.InvalidData ||
    (error instanceof Error && MISSING_CODES.has((error as { code?: string }).code))
}
