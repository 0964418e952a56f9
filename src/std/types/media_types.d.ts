/** Media types (deno-std media_types). */
export function contentType(extensionOrType: string): string | undefined
export function typeByExtension(extension: string): string | undefined
export function extension(typeOrExtension: string): string | undefined
export function parseMediaType(type: string): [mediaType: string, params: Record<string, string> | undefined]
export function formatMediaType(type: string, param?: Record<string, string>): string
