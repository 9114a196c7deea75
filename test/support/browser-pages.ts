import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { AxeResults, ImpactValue } from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { findProgram } from './programs.ts'

/** What people look at pages with. */
export const LOOKS = [
  { device: 'phone', width: 390, height: 844, colorScheme: 'light' },
  { device: 'phone', width: 390, height: 844, colorScheme: 'dark' },
  { device: 'desktop', width: 1440, height: 900, colorScheme: 'light' },
  { device: 'desktop', width: 1440, height: 900, colorScheme: 'dark' },
] as const
export type Look = (typeof LOOKS)[number]

/** A page as visited, with all that went wrong on it so far: it grows as long as the page is used. */
export interface Visited {
  page: Page
  /** Of the answer to the page itself. */
  status: number
  faults: string[]
}

export interface BrowserPages {
  readonly browser: Browser
  /** Shows a path in the window of a look; what went wrong there before is forgotten. */
  visit(path: string, look?: Look): Promise<Visited>
  close(): Promise<void>
}

interface Window {
  page: Page
  faults: string[]
}

interface Where {
  url: string
  token?: string
  /** One that is open already, and stays so: it takes a while to start. */
  within?: Browser
  /** How long a page may take, ms: half a minute where it is not given. */
  timeoutMs?: number
}

/** A browser that is signed in through the form, with a window per look. Without a token it stays signed out. */
export async function openBrowserPages({ url, token, within, timeoutMs }: Where): Promise<BrowserPages> {
  const browser = within ?? (await openChromium())
  const windows = new Map<Look, Promise<Window>>()
  const session = token === undefined ? undefined : await signIn(browser, url, token)

  const windowOf = (look: Look) => {
    const window = windows.get(look) ?? openWindow(browser, url, look, session)
    windows.set(look, window)
    return window
  }
  return {
    browser,
    visit: async (path, look = LOOKS[2]) => {
      const { page, faults } = await windowOf(look)
      if (timeoutMs !== undefined) page.setDefaultTimeout(timeoutMs)
      faults.length = 0
      const answer = await page.goto(new URL(path, url).href, { waitUntil: 'load' })
      return { page, faults, status: answer?.status() ?? 0 }
    },
    close: () => (within === undefined ? browser.close() : closeAll(windows.values())),
  }
}

async function closeAll(windows: Iterable<Promise<Window>>): Promise<void> {
  for (const { page } of await Promise.all(windows)) await page.context().close()
}

type Session = Awaited<ReturnType<BrowserContext['storageState']>>

async function signIn(browser: Browser, url: string, token: string): Promise<Session> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(new URL('/sign-in', url).href)
  await page.fill('input[name=token]', token)
  await Promise.all([page.waitForURL((at) => at.pathname !== '/sign-in'), page.press('input[name=token]', 'Enter')])
  const session = await context.storageState()
  await context.close()
  return session
}

async function openWindow(browser: Browser, url: string, look: Look, session?: Session): Promise<Window> {
  const { width, height, colorScheme } = look
  const viewport = { width, height }
  const context = await browser.newContext({
    viewport,
    colorScheme,
    reducedMotion: 'reduce',
    ...(session === undefined ? {} : { storageState: session }),
  })
  const page = await context.newPage()
  const faults: string[] = []
  await page.exposeBinding('tellOfViolation', (_source, violation: string) => faults.push(`CSP: ${violation}`))
  // Playwright's own scripts are not bound by the page's policy, and the event tells of inline ones too.
  await page.addInitScript(`addEventListener('securitypolicyviolation', (event) => window.tellOfViolation(
    [event.effectiveDirective, event.blockedURI, event.sample].join(' ')), true)`)
  noteFaults(page, new URL(url).origin, faults)
  return { page, faults }
}

const BOARD_JOB = /\/queues\/api\/queues\/[^/]+\/\d+$/

function noteFaults(page: Page, origin: string, faults: string[]): void {
  page.on('console', (message) => {
    // The answer that it tells of is looked at below.
    const isOfAnswer = message.text().startsWith('Failed to load resource')
    if ((message.type() === 'error' || message.type() === 'warning') && !isOfAnswer)
      faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`script: ${error.message}`))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (/^(data|blob|about):/.test(request.url())) return
    if (new URL(request.url()).origin !== origin) faults.push(`outside: ${request.url()}`)
  })
  page.on('requestfailed', (request) => {
    // A page that is left gives up what it was still asking for.
    const why = request.failure()?.errorText ?? ''
    if (why !== 'net::ERR_ABORTED') faults.push(`failed: ${request.url()} ${why}`)
  })
  page.on('response', (response) => {
    // The board asks for its job every few seconds; one that has ended is gone.
    if (response.status() === 404 && BOARD_JOB.test(response.url())) return
    if (response.status() >= 400 && !response.request().isNavigationRequest())
      faults.push(`failed: ${response.url()} ${response.status()}`)
  })
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const GRAVE: readonly (ImpactValue | undefined)[] = ['serious', 'critical']

/** What axe-core finds serious or critical, a line per element; by all of its rules, or by some. */
export async function axeFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Evaluated, not added as an element: the page's policy stays as it is.
  await page.evaluate(AXE)
  const options = {
    preload: false,
    resultTypes: ['violations'],
    ...(rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } }),
  }
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults
  return violations
    .filter(({ impact }) => GRAVE.includes(impact))
    .flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 300)}`))
}

/** How far the page can be scrolled sideways, in pixels. */
export async function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth') as Promise<number>
}

/** Leaves a picture of the whole page in the folder that PLIMSOLL_SCREENSHOTS names; nothing without one. */
export async function screenshot(page: Page, name: string, look: Look): Promise<void> {
  const folder = process.env.PLIMSOLL_SCREENSHOTS
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  const file = `${name} ${look.device} ${look.colorScheme}`.replace(/[^\w]+/g, '-')
  await page.screenshot({ path: join(folder, `${file}.png`), fullPage: true })
}

const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** It renders and does nothing else: no updates, no reports, no call of its own to anywhere. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-sync',
  '--disable-background-networking',
  '--disable-component-update',
]

export async function openChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args: QUIET, headless: true })
}

function findChromium(): string {
  const found = findProgram(COMMANDS, { given: process.env.CHROMIUM_BIN })
  if (found === undefined) throw new Error('there is no Chromium: apt-get install chromium, or set CHROMIUM_BIN')
  return found
}
