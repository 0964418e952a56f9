import { Router, type RouterOptions } from '@mayfly/mayfly'
import { fromFileUrl } from '@std/path'

/** The site of every Mayfly server here: routes and views of this folder, without hot reload and without virtual machines. */
export function createSite(options: RouterOptions = {}): Router {
  return new Router({
    routesDir: fromFileUrl(new URL('./routes', import.meta.url)),
    viewsDir: fromFileUrl(new URL('./views', import.meta.url)),
    hotReload: false,
    isolate: false,
    ...options,
  })
}
