/** What isolated code may ask of the host. */
export { type Caller, caller } from './calls/caller.ts'
export {
  environmentTypes,
  type ProgramEnv,
  type Reached,
  type ReachedProgram,
  type Signatures,
} from './environment.ts'
export { kv, type KvOptions } from './kv/kv.ts'
export { SqliteStore } from './kv/sqlite.ts'
export { ValkeyStore } from './kv/valkey.ts'
export {
  type Kv,
  type KvBackend,
  KvError,
  type KvList,
  type KvListOptions,
  type KvRules,
  type KvSetOptions,
  type Stored,
} from './kv/store.ts'
export type {
  OutboundBounds,
  OutboundContext,
  OutboundFunction,
  OutboundHost,
  OutboundList,
  SecretHeader,
} from './outbound/policy.ts'
