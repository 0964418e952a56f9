/**
 * Which tests run when.
 *
 * ```text
 * test      in minutes: format, lint, types, and the main paths of everything
 * gate      all but what follows
 * nightly   emulated VT-x whole, long fuzzing, 100 000 generated calls of the Web surface, unmodified servers, the soaks
 * ```
 */

/** The tier that runs; a plain `deno test` belongs to none and leaves nothing out. `rest` is the gate without what `test` has just shown. */
export type Tier = 'test' | 'gate' | 'rest' | 'nightly'

/** Tells the tests of their tier. */
export const TIER_VARIABLE = 'MAYFLY_TIER'

/** Whether tests are to leave out what only the gate runs. */
export function isQuick(): boolean {
  return readTier() === 'test'
}

/** Whether tests are to leave out what `test` runs as well. */
export function isRest(): boolean {
  return readTier() === 'rest'
}

/** Whether tests that generate their cases are to take the whole night's. */
export function isNight(): boolean {
  return readTier() === 'nightly'
}

function readTier(): Tier | undefined {
  return Deno.env.get(TIER_VARIABLE) as Tier | undefined
}

/** Files that only the gate runs: attacks, programs that load badly or run cold, the runtime core (whose build takes minutes), npm packages (800 MB to download), Chromium, worker processes in place of machines, growth over many rounds, streams of programs that arrive at runtime. */
export const GATE_FILES = [
  'tests/benchmark/isolated_routes_test.ts',
  'tests/benchmark/isolated_test.ts',
  'tests/docs/cookbook_test.ts',
  'tests/docs/docs_test.ts',
  'tests/docs/readme_test.ts',
  'tests/guest_core',
  'tests/isolate/core_layout_test.ts',
  'tests/isolate/core_packages_test.ts',
  'tests/isolate/linear_test.ts',
  'tests/isolated/attacks_test.ts',
  'tests/isolated/base_test.ts',
  'tests/isolated/body_clients_test.ts',
  'tests/isolated/bounds_test.ts',
  'tests/isolated/broken_warmup_test.ts',
  'tests/isolated/cache_test.ts',
  'tests/isolated/channel_test.ts',
  'tests/isolated/cold_test.ts',
  'tests/isolated/early_answer_test.ts',
  'tests/isolated/forge_test.ts',
  'tests/isolated/hook_test.ts',
  'tests/isolated/hostile_test.ts',
  'tests/isolated/limits_test.ts',
  'tests/isolated/loopback_test.ts',
  'tests/isolated/native_calls_test.ts',
  'tests/isolated/park_points_test.ts',
  'tests/isolated/poison_test.ts',
  'tests/isolated/promotion_test.ts',
  'tests/isolated/reset_check_test.ts',
  'tests/isolated/residue_test.ts',
  'tests/isolated/runtime_test.ts',
  'tests/isolated/socket_test.ts',
  'tests/isolated/stream_clients_test.ts',
  'tests/isolated/stream_forge_test.ts',
  'tests/isolated/surface_test.ts',
  'tests/isolated/teardown_test.ts',
  'tests/isolated/text_test.ts',
  'tests/isolated/timers_test.ts',
  'tests/isolated/unloadable_test.ts',
  'tests/isolated/worker_test.ts',
  'tests/isolated/world_test.ts',
  'tests/packages',
  'tests/reach/exits_test.ts',
  'tests/reach/kept_test.ts',
  'tests/reach/sandbox_streams_test.ts',
  'tests/reach/secret_memory_test.ts',
  'tests/reach/warmup_test.ts',
  'tests/router/reload_growth_test.ts',
  'tests/sandbox/back_off_test.ts',
  'tests/sandbox/fuzz_test.ts',
  'tests/sandbox/leak_test.ts',
  'tests/sandbox/packages_test.ts',
  'tests/sandbox/parallel_test.ts',
  'tests/sandbox/programs_test.ts',
  'tests/sandbox/request_body_test.ts',
  'tests/sandbox/router_test.ts',
  'tests/sandbox/socket_test.ts',
  'tests/sandbox/stream_test.ts',
  'tests/sandbox/swap_test.ts',
  'tests/site/browser_test.ts',
  'tests/site/isolation_test.ts',
  'tests/site/playground_runs_test.ts',
  'tests/site/reach_test.ts',
  'tests/site/tenants_test.ts',
  'tests/tenants/native_test.ts',
  'tests/tenants/neighbours_test.ts',
  'tests/tenants/sources_test.ts',
  'tests/tenants/stream_test.ts',
  'tests/tenants/swap_test.ts',
  'tests/tidy/strict_types_test.ts',
] as const

/** What runs in virtual machines; the rest of the tests runs beside it. */
export const MACHINE_FILES = [
  'tests/isolated',
  'tests/isolate_ffi',
  'tests/packages',
  'tests/docs/cookbook_test.ts',
  'tests/reach/exits_test.ts',
  'tests/reach/kept_test.ts',
  'tests/reach/leaving_client_test.ts',
  'tests/reach/parked_memory_test.ts',
  'tests/reach/routes_test.ts',
  'tests/reach/sandbox_streams_test.ts',
  'tests/reach/sandbox_test.ts',
  'tests/reach/secret_memory_test.ts',
  'tests/reach/secrets_test.ts',
  'tests/reach/tenants_test.ts',
  'tests/reach/warmup_test.ts',
  'tests/sandbox',
  'tests/site/playground_runs_test.ts',
  'tests/site/reach_test.ts',
  'tests/site/tenants_test.ts',
  'tests/tenants',
] as const
