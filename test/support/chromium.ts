import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** It renders and does nothing else: no updates, no reports, no call of its own to anywhere. */
const QUIET = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
]

export async function openChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: findChromium(), args: QUIET, headless: true })
}

function findChromium(): string {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const candidates = [
    process.env.CHROMIUM_BIN ?? '',
    ...folders.flatMap((folder) => COMMANDS.map((name) => join(folder, name))),
  ]
  const found = candidates.find(isExecutable)
  if (found === undefined) throw new Error('there is no Chromium: apt-get install chromium, or set CHROMIUM_BIN')
  return found
}

function isExecutable(path: string): boolean {
  if (path === '') return false
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
