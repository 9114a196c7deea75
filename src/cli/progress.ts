import { formatCount } from '../text/format-number.ts'
import type { Io } from './io.ts'

/** Work that is done sooner needs no word about how far it is. */
const QUIET_MS = 2_000
const BAR_EVERY_MS = 100
const LINE_EVERY_MS = 10_000
const BAR_WIDTH = 30

export interface Progress {
  /** `total` is undefined where nobody knows. */
  at(done: number, total: number | undefined): void
  /** Takes the bar away; before anything else is written. */
  end(): void
}

/** How far work is that takes a while, on standard error: a bar on a terminal, elsewhere a line now and then. */
export function showProgress(io: Pick<Io, 'err' | 'errIsTerminal' | 'clock'>, what: string): Progress {
  const every = io.errIsTerminal ? BAR_EVERY_MS : LINE_EVERY_MS
  let nextAt = io.clock.now() + QUIET_MS
  let isShown = false
  return {
    at: (done, total) => {
      const now = io.clock.now()
      if (now < nextAt) return
      nextAt = now + every
      const text = progressText(what, done, total)
      isShown = io.errIsTerminal
      io.err(io.errIsTerminal ? `\r\x1b[K${total === undefined ? '' : bar(done, total)}${text}` : `${text}\n`)
    },
    end: () => {
      if (isShown) io.err('\r\x1b[K')
      isShown = false
    },
  }
}

function progressText(what: string, done: number, total: number | undefined): string {
  return `${what}: ${formatCount(done)}${total === undefined ? '' : ` of ${formatCount(total)}`}`
}

function bar(done: number, total: number): string {
  const full = total === 0 ? BAR_WIDTH : Math.floor((Math.min(done, total) / total) * BAR_WIDTH)
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] `
}
