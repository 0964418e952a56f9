import { assertRejects, assertStringIncludes } from '@std/assert'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { traceLayout } from '../../src/isolate/boot/core_layout.ts'
import { IsolationUnavailableError } from '../../src/isolate/machines/errors.ts'

Deno.test('a guest that cannot be traced makes its runtime unavailable, and says why', async () => {
  try {
    for (
      const [binary, why] of [
        ['/nowhere/guest-core', 'Cannot run the small guest'],
        ['/bin/false', 'its guest ended with 1 and 0 bytes, want 0 and a layout'],
        ['/bin/true', 'its guest ended with 0 and 0 bytes, want 0 and a layout'],
      ]
    ) {
      const error = await assertRejects(
        () => traceLayout(binary, new Uint8Array()),
        IsolationUnavailableError,
      )
      assertStringIncludes(error.message, why)
    }
  } finally {
    await stopEsbuild()
  }
})
