import { optionError } from '../options/check.ts'

/** A realm as a quoted string of RFC 9110, section 5.6.4. Throws `TypeError` for what it cannot hold. */
export function toRealm(factory: string, realm: string): string {
  if (!/^[\x20-\x7e]+$/.test(realm)) {
    throw optionError(`make ${factory}`, 'realm', realm, 'printable ASCII text')
  }
  return `"${realm.replace(/["\\]/g, '\\$&')}"`
}
