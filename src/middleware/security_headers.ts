import { encodeBase64 } from '@std/encoding/base64'
import type { Middleware } from '../context/types.ts'
import { isHeaderValue, presetHeader } from './headers.ts'
import { checkFactoryOptions } from './factory_options.ts'
import type { OptionRule, OptionRules } from '../options/rule.ts'

/** Options of {@linkcode securityHeaders}: the header's value, or false to leave it out. */
export interface SecurityHeadersOptions {
  /** `{nonce}` stands for the nonce of the response. Default: a policy with a nonce for scripts. */
  readonly contentSecurityPolicy?: string | false | undefined
  /** The same, only reported. Default none. */
  readonly contentSecurityPolicyReportOnly?: string | false | undefined
  /** Default none. */
  readonly crossOriginEmbedderPolicy?: string | false | undefined
  /** Default `same-origin`. */
  readonly crossOriginOpenerPolicy?: string | false | undefined
  /** Default `same-origin`. */
  readonly crossOriginResourcePolicy?: string | false | undefined
  /** Default `?1`. */
  readonly originAgentCluster?: string | false | undefined
  /** Default none. */
  readonly permissionsPolicy?: string | false | undefined
  /** Default `no-referrer`. */
  readonly referrerPolicy?: string | false | undefined
  /** Only for sites that are on HTTPS for good. Default none. */
  readonly strictTransportSecurity?: string | false | undefined
  /** Default `nosniff`. */
  readonly xContentTypeOptions?: string | false | undefined
  /** Default `off`. */
  readonly xDnsPrefetchControl?: string | false | undefined
  /** Default `noopen`. */
  readonly xDownloadOptions?: string | false | undefined
  /** Default `SAMEORIGIN`. */
  readonly xFrameOptions?: string | false | undefined
  /** Default `none`. */
  readonly xPermittedCrossDomainPolicies?: string | false | undefined
}

/** The default content security policy of {@linkcode securityHeaders}. */
export const DEFAULT_CONTENT_SECURITY_POLICY: string = [
  `default-src 'self'`,
  `base-uri 'self'`,
  `form-action 'self'`,
  `frame-ancestors 'self'`,
  `img-src 'self' data:`,
  `object-src 'none'`,
  `script-src 'self' 'nonce-{nonce}'`,
  `script-src-attr 'none'`,
  `style-src 'self' 'unsafe-inline'`,
].join('; ')

const HEADERS: Readonly<
  Record<keyof SecurityHeadersOptions, readonly [header: string, value: string | false]>
> = {
  contentSecurityPolicy: ['content-security-policy', DEFAULT_CONTENT_SECURITY_POLICY],
  contentSecurityPolicyReportOnly: ['content-security-policy-report-only', false],
  crossOriginEmbedderPolicy: ['cross-origin-embedder-policy', false],
  crossOriginOpenerPolicy: ['cross-origin-opener-policy', 'same-origin'],
  crossOriginResourcePolicy: ['cross-origin-resource-policy', 'same-origin'],
  originAgentCluster: ['origin-agent-cluster', '?1'],
  permissionsPolicy: ['permissions-policy', false],
  referrerPolicy: ['referrer-policy', 'no-referrer'],
  strictTransportSecurity: ['strict-transport-security', false],
  xContentTypeOptions: ['x-content-type-options', 'nosniff'],
  xDnsPrefetchControl: ['x-dns-prefetch-control', 'off'],
  xDownloadOptions: ['x-download-options', 'noopen'],
  xFrameOptions: ['x-frame-options', 'SAMEORIGIN'],
  xPermittedCrossDomainPolicies: ['x-permitted-cross-domain-policies', 'none'],
}

const VALUE_RULE: OptionRule = {
  wanted: 'non-empty text without line breaks, or false',
  check: (value) => value === false || (value !== '' && isHeaderValue(value)) ? undefined : TypeError,
}

const RULES = Object.fromEntries(Object.keys(HEADERS).map((name) => [name, VALUE_RULE])) as OptionRules<
  SecurityHeadersOptions
>

/**
 * Sets the headers by which a browser protects a site's visitors. When a policy names `{nonce}`, every response gets a
 * fresh nonce, which handlers and views read from `ctx.state.nonce`. A header that the handler sets itself stays.
 */
export function securityHeaders(options: SecurityHeadersOptions = {}): Middleware {
  checkFactoryOptions(securityHeaders, options, RULES)
  const fixed: [header: string, value: string][] = []
  const policies: [header: string, parts: string[]][] = []
  for (const [name, [header, usual]] of Object.entries(HEADERS)) {
    const value = options[name as keyof SecurityHeadersOptions] ?? usual
    if (value === false) continue
    if (name.startsWith('contentSecurityPolicy') && value.includes('{nonce}')) {
      policies.push([header, value.split('{nonce}')])
    } else fixed.push([header, value])
  }
  return function securityHeaders(ctx, next) {
    for (const [header, value] of fixed) presetHeader(ctx, header, value)
    if (policies.length > 0) {
      const nonce = encodeBase64(crypto.getRandomValues(new Uint8Array(16)))
      ctx.state.nonce = nonce
      for (const [header, parts] of policies) presetHeader(ctx, header, parts.join(nonce))
    }
    return next()
  }
}
