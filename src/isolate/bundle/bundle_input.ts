/** What is bundled. */
import { fromFileUrl } from '@std/path'
import type { ReachNames } from '../../reach/calls/protocol.ts'
import type { IsolateRuntime } from '../plan/options.ts'
import type { GivenModules } from './given_modules.ts'

/** A handler: an export of a route file. */
export interface BundleHandler {
  /** For people: `routes/users.ts GET`. */
  readonly name: string
  /** Index in {@link BundleInput.files}. */
  readonly file: number
  /** A method, or `default` for an app with `fetch`. */
  readonly export: string
}

/** What goes into a bundle. The order of the handlers gives their numbers on the wire. */
export interface BundleInput {
  /** What runs it. */
  readonly runtime: IsolateRuntime
  /** A folder, of the routes: the files of its project, and packages, may be in the bundle. */
  readonly root: string
  /** Absolute paths of the route files. */
  readonly files: readonly string[]
  readonly handlers: readonly BundleHandler[]
  /** Bytes of a response's body. */
  readonly outputBytes: number
  /** Bytes that a request may write to its console. */
  readonly logBytes: number
  /** What its handlers may ask of the host; left out: nothing. */
  readonly reach?: ReachNames | undefined
}

/** A module with all that it imports, for what loads modules by itself; what there is of a guest in it is its own. */
export interface ModuleInput {
  readonly runtime: IsolateRuntime
  /** A folder whose project's files, and packages, may be in the bundle. */
  readonly root: string
  /** Absolute path. */
  readonly file: string
}

/** Modules that are handed in, for what loads modules by itself. */
export interface GivenInput {
  readonly runtime: IsolateRuntime
  /** A folder whose project's packages may be in the bundle. */
  readonly root: string
  /** The module whose exports are those of the bundle. */
  readonly main: string
  readonly modules: GivenModules
}

/** Name of the guest's file; programs import it from beside them. */
export const RUNTIME_FILE = 'runtime.js'

/** Where the guest's modules lie. */
export const GUEST = new URL('../guest/', import.meta.url)

/** A module of the guest as an import's specifier. */
export function toGuestImport(name: string): string {
  return JSON.stringify(fromFileUrl(new URL(name, GUEST)))
}
