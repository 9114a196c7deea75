import { type Browser, chromium } from 'playwright-core'
import { findProgram } from './programs.ts'

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
  const found = findProgram(COMMANDS, { given: process.env.CHROMIUM_BIN })
  if (found === undefined) throw new Error('there is no Chromium: apt-get install chromium, or set CHROMIUM_BIN')
  return found
}
