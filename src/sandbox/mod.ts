/**
 * Runs code that arrives at runtime, in virtual machines that are reset after every run.
 *
 * @module
 */
export { type GetOptions, type RunOptions, type RunResult, Sandbox, type SandboxStats } from './sandbox.ts'
export type { SandboxOptions } from './options.ts'
export type { SandboxLimits } from './limits.ts'
export type { ModuleSource, SandboxCode, SandboxOutbound } from './code.ts'
export type { SandboxLoader } from './programs.ts'
export type {
  CallOptions,
  Entrypoint,
  EntrypointOptions,
  EntrypointStub,
  RunReport,
  SandboxWorker,
} from './worker.ts'
export {
  CallsError,
  CrashError,
  LimitError,
  MemoryError,
  type MetLimit,
  OutputError,
  QueueError,
  type RunStats,
  SandboxError,
  ThrownError,
  TimeoutError,
} from './errors.ts'
