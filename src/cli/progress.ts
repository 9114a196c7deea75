import type { Io } from './io.ts'

export interface Progress {
  advance(count: number): void
  /** Takes the bar away. */
  end(): void
}

/** Work that is done sooner needs no word. */
const QUIET_MS = 2_000
const BAR_EVERY_MS = 100
const LINE_EVERY_MS = 5_000
const BAR_WIDTH = 24

/** How far long work is, on standard error: a bar for people at a terminal, a line now and then for a log. */
export function createProgress(io: Io, what: string, total?: number): Progress {
  let done = 0
  let saidAt = io.clock.now() + QUIET_MS - (io.errIsTerminal ? BAR_EVERY_MS : LINE_EVERY_MS)
  let isShown = false
  return {
    advance: (count) => {
      done += count
      const now = io.clock.now()
      if (now - saidAt < (io.errIsTerminal ? BAR_EVERY_MS : LINE_EVERY_MS)) return
      saidAt = now
      isShown = true
      io.err(io.errIsTerminal ? `\r\u001b[K${bar(what, done, total)}` : `${what}: ${standing(done, total)}\n`)
    },
    end: () => {
      if (isShown && io.errIsTerminal) io.err('\r\u001b[K')
    },
  }
}

function bar(what: string, done: number, total: number | undefined): string {
  if (total === undefined || total === 0) return `${what} ${standing(done, total)}`
  const filled = Math.min(BAR_WIDTH, Math.round((done / total) * BAR_WIDTH))
  return `${what} [${'#'.repeat(filled)}${'-'.repeat(BAR_WIDTH - filled)}] ${standing(done, total)}`
}

function standing(done: number, total: number | undefined): string {
  const count = done.toLocaleString('en-US')
  return total === undefined ? count : `${count} of ${total.toLocaleString('en-US')}`
}
