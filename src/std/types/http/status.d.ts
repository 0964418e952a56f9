/** Status codes and their reason phrases (deno-std http/status). */
export const STATUS_CODE: Readonly<Record<string, number>>
export const STATUS_TEXT: Readonly<Record<number, string>>
export function isStatus(status: number): boolean
export function isErrorStatus(status: number): boolean
export function isRedirectStatus(status: number): boolean
