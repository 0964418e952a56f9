/** The surface as the file that a guest loads. */
import { assert, assertEquals } from '@std/assert'
import { stopEsbuild } from '../../src/compiler/esbuild.ts'
import { bundleSurface } from '../../src/isolate/core/core_surface.ts'

Deno.test({
  name: 'bundleSurface gives one module without imports, the same one each time',
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    try {
      const first = await bundleSurface()
      const code = new TextDecoder().decode(first)
      assert(first === await bundleSurface())
      assertEquals(/^\s*(?:import|export)\b/m.test(code), false)
      assert(code.includes('__mayfly') && !code.includes('native/guest-core/web/main.ts:'))
      assert(first.length < 200_000, `${first.length} bytes`)
    } finally {
      await stopEsbuild()
    }
  },
})
