/** What a sandbox tells of itself. */
import { createBus, emit, type EventBus, type EventPattern, subscribe, wants } from '../events/bus.ts'
import type { LifecycleKind, LifecycleListener, SandboxMetadata } from '../events/kinds.ts'

/** Events of a sandbox. */
export type SandboxEventKind = Extract<LifecycleKind, `sandbox:${string}`>

/** The bus of a sandbox: its own, or its router's. */
export class SandboxEvents {
  readonly #bus: EventBus

  constructor(bus: EventBus = createBus()) {
    this.#bus = bus
  }

  /** Somebody listens to what every run tells. */
  get heard(): boolean {
    return wants(this.#bus, 'sandbox:complete') || wants(this.#bus, 'sandbox:denied') ||
      wants(this.#bus, 'sandbox:lost')
  }

  tell(kind: SandboxEventKind, metadata: SandboxMetadata): void {
    emit(this.#bus, kind, metadata)
  }

  listen(pattern: EventPattern, listener: LifecycleListener): () => void {
    return subscribe(this.#bus, pattern, listener)
  }
}
