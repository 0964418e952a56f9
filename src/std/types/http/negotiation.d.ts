/** Content negotiation by RFC 9110 section 12.5 (deno-std http/negotiation). */
export function accepts(request: Pick<Request, 'headers'>): string[]
export function accepts(request: Pick<Request, 'headers'>, ...types: string[]): string | undefined
export function acceptsEncodings(request: Pick<Request, 'headers'>): string[]
export function acceptsEncodings(
  request: Pick<Request, 'headers'>,
  ...encodings: string[]
): string | undefined
export function acceptsLanguages(request: Pick<Request, 'headers'>): string[]
export function acceptsLanguages(request: Pick<Request, 'headers'>, ...langs: string[]): string | undefined
