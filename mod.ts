/**
 * Mayfly: a web framework for Deno with a file router, the DVE template engine, and handlers that run in a virtual machine
 * which is reset after every request.
 *
 * @module
 */
export { Router } from './src/app/router.ts'
export type { Handlers, RouteContext, RouteGet, RouteParams } from './src/app/handlers.ts'
export type { IsolateRouterOptions, RouterOptions, TrustProxy, WorkerOptions } from './src/app/options.ts'
export type {
  Awaitable,
  Context,
  ContextEnv,
  ContextGet,
  ContextSend,
  ContextSet,
  ContextState,
  CookieOptions,
  ErrorHandler,
  Failure,
  FormValue,
  Handler,
  Middleware,
  Next,
  RenderOptions,
  SseMessage,
  WorkerFace,
  WorkerRunOptions,
} from './src/context/types.ts'
export type {
  SchemaOutput,
  StandardIssue,
  StandardResult,
  StandardSchema,
  Validated,
  ValidateOptions,
  ValidateSource,
} from './src/context/schema_types.ts'
export {
  Engine,
  type EngineEvent,
  type EngineHooks,
  type EngineLimits,
  type EngineOptions,
  type Filter,
  type StreamOptions,
  type Template,
  TemplateError,
} from './src/dve/mod.ts'
export { HttpError, type HttpErrorOptions } from './src/errors/http_error.ts'
export { StartupError } from './src/errors/startup_error.ts'
export type { EventPattern } from './src/events/bus.ts'
export * from './src/events/kinds.ts'
export type { RouteRow } from './src/router/load/table.ts'
export type { ListenAddress, ServeOptions } from './src/server/listen.ts'
export { defineWorker } from './src/worker/define_worker.ts'
export * from './src/middleware/mod.ts'
export type { StaticOptions, StaticResolver, StaticSource } from './src/static/options.ts'
export type { IsolateLimits, IsolateOptions, IsolateRuntime } from './src/isolate/plan/options.ts'
export type { WarmupRequest } from './src/isolate/warm/warmup_request.ts'
export type { Tenants } from './src/tenants/tenants.ts'
export type { TenantRow, TenantStats } from './src/tenants/tenant.ts'
export type { FoundTenant, TenantFinder, TenantsOptions } from './src/tenants/options.ts'
export type { TenantDefaults, TenantSettings } from './src/tenants/settings.ts'
