/** The middleware in the box: each a function that checks its options at once and gives a middleware. */
export { basicAuth, type BasicAuthOptions, type BasicAuthUser } from './basic_auth.ts'
export { bearerAuth, type BearerAuthOptions } from './bearer_auth.ts'
export { bodyLimit, type BodyLimitOptions } from './body_limit.ts'
export { compress, type CompressEncoding, type CompressOptions } from './compress.ts'
export { cors, type CorsOptions } from './cors.ts'
export { csrf, type CsrfOptions, type CsrfRule } from './csrf.ts'
export { ip, type IpOptions } from './ip.ts'
export { rateLimit, type RateLimitOptions } from './rate_limit.ts'
export { requestId, type RequestIdOptions } from './request_id.ts'
export type { Secret } from './secrets.ts'
export {
  DEFAULT_CONTENT_SECURITY_POLICY,
  securityHeaders,
  type SecurityHeadersOptions,
} from './security_headers.ts'
export { serverTiming, type ServerTimingOptions } from './server_timing.ts'
export { session, type SessionOptions } from './session.ts'
export { validate, type ValidateIssue } from './validate.ts'
export { type SocketCallback, websocket, type WebSocketOptions } from './websocket.ts'
