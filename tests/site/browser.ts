/** A real server and a real browser for tests: Debian's Chromium driven by playwright-core. */
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { createSite, type SiteOptions } from '../../routes/_site.ts'
import { listen } from '../listening.ts'

/** The browser's path: CHROMIUM, or where Debian puts it. */
export const CHROMIUM = Deno.env.get('CHROMIUM') ?? '/usr/bin/chromium'

const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** How a page is looked at. */
export interface Look {
  readonly name: string
  readonly width: number
  readonly height: number
  readonly scheme: 'light' | 'dark'
}

/** Desktop in both schemes, and the narrowest phone. */
export const LOOKS: readonly Look[] = [
  { name: 'light', width: 1280, height: 860, scheme: 'light' },
  { name: 'dark', width: 1280, height: 860, scheme: 'dark' },
  { name: 'phone', width: 360, height: 740, scheme: 'light' },
  { name: 'phone-dark', width: 360, height: 740, scheme: 'dark' },
]

/** A browser with the site under its `origin`. */
export interface Stage extends AsyncDisposable {
  readonly origin: string
  readonly browser: Browser
}

/** A page that collects what went wrong on it. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors of the console, of scripts, of the policy, and requests that failed or were answered with an error. */
  readonly faults: string[]
}

/** True when there is a browser; otherwise says aloud what is skipped. */
export async function hasChromium(): Promise<boolean> {
  try {
    return (await Deno.stat(CHROMIUM)).isFile
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error
    console.log(`SKIPPED: no chromium at ${CHROMIUM}, the browser tests of the example site did not run`)
    return false
  }
}

/** Serves the site on a free port, without virtual machines unless asked for them, and starts the browser. */
export async function openStage(options: SiteOptions = { isolate: false }): Promise<Stage> {
  const site = createSite({ production: true, ...options })
  const { origin, close } = await listen((options) => site.serve(options))
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS })
  return {
    origin,
    browser,
    async [Symbol.asyncDispose]() {
      await browser.close()
      await close()
    },
  }
}

/** Opens an empty page with its own cookies. */
export async function openPage(stage: Stage, look: Look = LOOKS[0]): Promise<WatchedPage> {
  const context = await stage.browser.newContext({
    baseURL: stage.origin,
    viewport: { width: look.width, height: look.height },
    colorScheme: look.scheme,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`script: ${error.message}`))
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? ''
    // Leaving a page ends its streams.
    if (reason !== 'net::ERR_ABORTED') faults.push(`request: ${request.url()} ${reason}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) faults.push(`answer: ${response.url()} ${response.status()}`)
  })
  return { page, context, faults, [Symbol.asyncDispose]: () => context.close() }
}
