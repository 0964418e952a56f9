/** Checks `/dev/kvm` before anything is built for this host. */
import { IsolationUnavailableError } from '../machines/errors.ts'

/** What the native half says of the same causes: see `why_closed` in native/vmm/src/host.rs. */
const MISSING =
  '/dev/kvm does not exist: enable virtualisation in the firmware and load the module kvm_amd or kvm_intel; ' +
  'in a virtual machine, ask for nested virtualisation; in a container, pass the device in'
const CLOSED = 'this user may not open /dev/kvm: add the user to the group kvm and log in again'
const OTHER =
  '/dev/kvm is no KVM device: look what lies in its place, it must be the character device 10:232 of the host'
/** Its device number: major 10 (misc), minor 232 (KVM_MINOR in linux/miscdevice.h). */
const KVM_DEVICE = 10 << 8 | 232
const ELSEWHERE = 'virtual machines need Linux on x86-64'

/**
 * Rejects with `IsolationUnavailableError` where it is plain that no virtual machine can run, so that nobody waits for the build of
 * a library that has no use. What cannot be checked from here is left to the library.
 */
export async function checkKvmDevice(path = '/dev/kvm', { os, arch } = Deno.build): Promise<void> {
  if (os !== 'linux' || arch !== 'x86_64') {
    throw new IsolationUnavailableError(`${ELSEWHERE}, and this is ${os} on ${arch}`)
  }
  let number: number | null
  try {
    number = (await Deno.stat(path)).rdev
    const device = await Deno.open(path, { read: true, write: true })
    device.close()
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new IsolationUnavailableError(MISSING)
    if (error instanceof Deno.errors.PermissionDenied) throw new IsolationUnavailableError(CLOSED)
    return
  }
  if (number !== KVM_DEVICE) throw new IsolationUnavailableError(OTHER)
}
