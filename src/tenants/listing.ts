/** What a folder or a file says of its tenants, before their code is asked for. */
import { basename, dirname, join, resolve } from '@std/path'
import { findFaults, throwFaults } from '../options/check.ts'
import { isObject, object, type OptionRules, rule, text } from '../options/rule.ts'
import { toPattern } from './hosts.ts'
import type { ResolvedTenantsOptions } from './options.ts'
import {
  checkSettings,
  DEFAULTS_RULES,
  type ResolvedSettings,
  resolveSettings,
  SETTINGS_RULES,
  type TenantDefaults,
  type TenantSettings,
} from './settings.ts'

/** A tenant that is there. */
export interface Listed {
  readonly name: string
  /** Absolute. */
  readonly folder: string
  readonly settings: ResolvedSettings
  /** In the form of `HostTable`. */
  readonly hosts: readonly string[]
  readonly main: string | undefined
}

/** Tenants by name; an error stands for one that cannot be read. */
export type Listing = ReadonlyMap<string, Listed | Error>

/** Where settings come from that a tenant does not say. */
type Surroundings = Pick<ResolvedTenantsOptions, 'domain' | 'defaults' | 'groups'>

/** The settings of a tenant in a folder. */
export const SETTINGS_FILE = 'tenant.json'
/** What a tenant may be called: part of a host name, if it has no others. */
const NAME = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/

/** `tenants.json`: what one tenant's entry may have beside its settings. */
interface FileEntry extends TenantSettings {
  /** Its folder, from that of the file. Default: its name. */
  readonly folder?: string | undefined
}

interface TenantsFile {
  readonly defaults?: TenantDefaults | undefined
  readonly groups?: Readonly<Record<string, TenantDefaults>> | undefined
  readonly tenants: Readonly<Record<string, FileEntry>>
}

const ENTRY_RULES: OptionRules<FileEntry> = { ...SETTINGS_RULES, folder: text('a folder as text') }
const FILE_RULES: OptionRules<TenantsFile> = {
  defaults: object(DEFAULTS_RULES),
  groups: rule('an object of settings by the name of a group', isObject),
  tenants: { ...rule('an object of tenants by name', isObject), required: true },
}

/** Whether the option names a file of tenants, and no folder. */
export function isFileOfTenants(from: string): boolean {
  return from.endsWith('.json')
}

/** The tenants of a folder or a file. Rejects where it cannot be read as a whole; what is wrong with one tenant stands for that one. */
export async function listTenants(from: string, options: Surroundings): Promise<Listing> {
  return await (isFileOfTenants(from) ? listFile(from, options) : listFolder(from, options))
}

async function listFolder(from: string, options: Surroundings): Promise<Listing> {
  const root = await Deno.realPath(from)
  const names: string[] = []
  for await (const { name, isDirectory } of Deno.readDir(root)) {
    if (isDirectory && !/^[_.@]/.test(name) && name !== 'node_modules') names.push(name)
  }
  const listed = new Map<string, Listed | Error>()
  for (const name of names.sort()) {
    const where = join(from, name, SETTINGS_FILE)
    const read = async () =>
      toListed(name, where, join(root, name), await readSettings(where, join(root, name)), options)
    listed.set(name, await read().catch(toError))
  }
  return listed
}

async function readSettings(where: string, folder: string): Promise<TenantSettings> {
  const text = await readOwnText(join(folder, SETTINGS_FILE))
  return text === null ? {} : checkSettings(where, parse(where, text))
}

async function listFile(from: string, options: Surroundings): Promise<Listing> {
  const file = parse(from, await Deno.readTextFile(from)) as TenantsFile
  const faults = isObject(file) ? findFaults(file, FILE_RULES) : []
  if (!isObject(file)) throw new TypeError(`Cannot read ${from}: it is ${Deno.inspect(file)}, want an object`)
  for (const [name, group] of Object.entries(isObject(file.groups) ? file.groups : {})) {
    if (isObject(group)) faults.push(...findFaults(group, DEFAULTS_RULES, `groups.${name}.`))
    else faults.push({ Kind: TypeError, text: `groups.${name} is no object` })
  }
  throwFaults(`read ${from}`, faults)
  const surroundings: Surroundings = {
    domain: options.domain,
    defaults: {
      ...options.defaults,
      ...file.defaults,
      env: { ...options.defaults.env, ...file.defaults?.env },
      limits: { ...options.defaults.limits, ...file.defaults?.limits },
    },
    groups: { ...options.groups, ...file.groups },
  }
  const root = dirname(await Deno.realPath(from))
  const listed = new Map<string, Listed | Error>()
  for (const [name, entry] of Object.entries(file.tenants)) {
    try {
      if (!isObject(entry)) throw new TypeError(`Cannot read ${from}: tenants.${name} is no object, want one`)
      throwFaults(`read ${from}`, findFaults(entry, ENTRY_RULES, `tenants.${name}.`))
      const { folder = name, ...settings } = entry as FileEntry
      listed.set(name, toListed(name, `${from} (${name})`, resolve(root, folder), settings, surroundings))
    } catch (error) {
      listed.set(name, toError(error))
    }
  }
  return listed
}

function toListed(
  name: string,
  where: string,
  folder: string,
  settings: TenantSettings,
  { domain, defaults, groups }: Surroundings,
): Listed {
  if (!NAME.test(name)) {
    throw new TypeError(
      `Cannot read ${where}: the tenant is called '${name}', want up to 63 of a-z, 0-9, - and _, no - or _ at either end`,
    )
  }
  const resolved = resolveSettings(where, settings, groups, defaults)
  const { hosts = domain === undefined ? undefined : [`${name}.${domain}`], main } = settings
  if (hosts === undefined) {
    throw new TypeError(
      `Cannot read ${where}: hosts is missing, want host names, or the option tenants.domain`,
    )
  }
  return { name, folder, settings: resolved, hosts: hosts.map((host) => toPattern(host)!), main }
}

/** The text of a file that is one, and no link to another; null where there is none. */
async function readOwnText(path: string): Promise<string | null> {
  try {
    const { isFile } = await Deno.lstat(path)
    if (!isFile) throw new TypeError(`Cannot read ${basename(path)}: it is a link or a folder, want a file`)
    return await Deno.readTextFile(path)
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null
    throw error
  }
}

function parse(where: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new TypeError(`Cannot read ${where}: it is no JSON: ${(error as Error).message}`)
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
