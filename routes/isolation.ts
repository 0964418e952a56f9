import type { Handler } from '@mayfly/mayfly'
import { renderPage } from './_lib/page.ts'
import { siteOf } from './_lib/site.ts'

export const GET: Handler = async (ctx) =>
  renderPage(ctx, 'isolation', {
    href: '/isolation',
    description:
      'A handler that runs in a virtual machine, and a machine that forgets: after every request it is put back to its snapshot.',
    data: {
      kvm: await hasKvm(),
      isolated: siteOf(ctx).routes().filter((row) => row.isolated),
    },
  })

/** Whether this machine offers KVM at all. */
async function hasKvm(): Promise<boolean> {
  try {
    return (await Deno.stat('/dev/kvm')).isCharDevice === true
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) return false
    throw error
  }
}
