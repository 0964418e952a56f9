/** Paths (deno-std path). */
export const SEPARATOR: '/' | '\\'
export function basename(path: string | URL, suffix?: string): string
export function dirname(path: string | URL): string
export function extname(path: string | URL): string
export function fromFileUrl(url: string | URL): string
export function toFileUrl(path: string): URL
export function isAbsolute(path: string): boolean
export function join(...parts: string[]): string
export function normalize(path: string | URL): string
export function relative(from: string, to: string): string
export function resolve(...parts: string[]): string
export function parse(path: string): { root: string; dir: string; base: string; ext: string; name: string }
export function globToRegExp(glob: string): RegExp
