/** Watches tenants: which of them were saved, and whether settings were. */
import { basename, dirname, resolve } from '@std/path'
import { closeDebounce, createDebounce, push } from '../router/reload/debounce.ts'
import { closeFolderWatch, createFolderWatch, watchFolders } from '../router/reload/watcher.ts'
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
  const debounce = createDebounce(DEBOUNCE_MS, (paths) => follow(paths))
  const onPaths = (paths: readonly string[]) => push(debounce, paths.length === 0 ? [EVERYTHING] : paths)
  const deep = createFolderWatch({ recursive: true, onPaths, onFailure })
  const flat = createFolderWatch({ recursive: false, onPaths, onFailure })
  const watchFolderOfEach = () => {
    if (file !== null) watchFolders(deep, new Set([...options.folders()].map(([, folder]) => folder)))
  }
  const follow = async (paths: ReadonlySet<string>) => {
    const folders = [...options.folders()]
    const all = paths.has(EVERYTHING)
    // Limits and `env` of every tenant may stand in the file.
    const settings = all || [...paths].some((path) => isSettings(path, root, file, folders))
    const names = all || (settings && file !== null)
      ? folders.map(([name]) => name)
      : folders.filter(([, folder]) => [...paths].some((path) => path.startsWith(`${folder}/`))).map((
        [name],
      ) => name)
    if (names.length === 0 && !settings) return
    await options.onSave(new Set(names), settings)
    if (settings) watchFolderOfEach()
  }
  watchFolders(file === null ? deep : flat, [root])
  watchFolderOfEach()
  return {
    async close() {
      await closeDebounce(debounce)
      await Promise.all([closeFolderWatch(deep), closeFolderWatch(flat)])
    },
  }
}

/** Whether who there is, or what they set, may have changed with a path. */
function isSettings(
  path: string,
  root: string,
  file: string | null,
  folders: readonly (readonly [name: string, folder: string])[],
): boolean {
  if (file !== null) return path === file || path === root
  const owner = folders.find(([, folder]) => path.startsWith(`${folder}/`))
  return owner === undefined || path === `${owner[1]}/${SETTINGS_FILE}`
}

function realPathOf(path: string): string {
  try {
    return Deno.realPathSync(path)
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return path
    throw error
  }
}
