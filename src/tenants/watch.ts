/** Watches tenants: which of them were saved, and whether settings were. */
import { basename, dirname, resolve } from '@std/path'
import { closeDebounce, createDebounce, type Debounce, push } from '../router/reload/debounce.ts'
import {
  closeFolderWatch,
  createFolderWatch,
  type FolderWatch,
  watchFolders,
} from '../router/reload/watcher.ts'
import { isFileOfTenants, SETTINGS_FILE } from './listing.ts'

/** What the watch tells, and what it must know. */
export interface WatchOptions {
  /** The tenants and their folders, absolute. */
  readonly folders: () => Iterable<readonly [name: string, folder: string]>
  /** Called with the tenants whose files changed, never twice at a time. `settings`: who there is, or settings, may have changed. */
  readonly onSave: (names: ReadonlySet<string>, settings: boolean) => Promise<void>
  readonly onFailure: (error: unknown) => void
}

/** A watch that is open. */
export interface TenantsWatch {
  /** Resolves when what was under way has ended. */
  close(): Promise<void>
}

/** Milliseconds without a change before it is followed. */
const DEBOUNCE_MS = 150
/** Stands for: something may have been missed. */
const EVERYTHING = ''

/** Begins to watch the folder or file of tenants. */
export function watchTenants(from: string, options: WatchOptions): TenantsWatch {
  const { onFailure } = options
  const root = realPathOf(isFileOfTenants(from) ? dirname(resolve(from)) : resolve(from))
  const file = isFileOfTenants(from) ? resolve(root, basename(from)) : null
  let debounce: Debounce
  const onPaths = (paths: readonly string[]) => push(debounce, paths.length === 0 ? [EVERYTHING] : paths)
  const deep = createFolderWatch({ recursive: true, onPaths, onFailure })
  const flat = createFolderWatch({ recursive: false, onPaths, onFailure })
  const follow = () => {
    if (file !== null) watchFolders(deep, new Set([...options.folders()].map(([, folder]) => folder)))
  }
  debounce = createDebounce(DEBOUNCE_MS, async (paths) => {
    const names = new Set<string>()
    let settings = paths.has(EVERYTHING)
    const folders = [...options.folders()]
    for (const path of paths) {
      const owners = folders.filter(([, folder]) => path.startsWith(`${folder}/`))
      for (const [name, folder] of owners) {
        names.add(name)
        if (file === null && path === `${folder}/${SETTINGS_FILE}`) settings = true
      }
      if (file === null ? owners.length === 0 : path === file || path === root) settings = true
    }
    if (paths.has(EVERYTHING)) { for (const [name] of folders) names.add(name) }
    // Limits and `env` of all may stand in the file.
    if (file !== null && settings) { for (const [name] of folders) names.add(name) }
    if (names.size === 0 && !settings) return
    await options.onSave(names, settings)
    if (settings) follow()
  })
  watchAll(deep, flat, root, file)
  follow()
  return {
    async close() {
      await closeDebounce(debounce)
      await Promise.all([closeFolderWatch(deep), closeFolderWatch(flat)])
    },
  }
}

function watchAll(deep: FolderWatch, flat: FolderWatch, root: string, file: string | null): void {
  watchFolders(file === null ? deep : flat, [root])
}

function realPathOf(path: string): string {
  try {
    return Deno.realPathSync(path)
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return path
    throw error
  }
}
