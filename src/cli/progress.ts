import { cutToWidth } from '../text/display-width.ts'
import { formatCount, formatSpan } from '../text/format-number.ts'
import type { Io } from './io.ts'

/** Faster work shows no progress; a log waits longer than a terminal for its first line. */
const QUIET_MS = 2_000
const BAR_EVERY_MS = 100
const LINE_EVERY_MS = 10_000
const BAR_WIDTH = 30
/** A rate is shown after so much time: before, it is too uncertain. */
const RATE_AFTER_MS = 3_000

export interface Progress {
  /** `total` is undefined where it is not known. */
  at(done: number, total: number | undefined): void
  /** Removes the bar before other output; it comes back if the work goes on. */
  clear(): void
  /** The work is over, and no more of it is shown. */
  end(): void
}

interface Step {
  done: number
  total: number | undefined
  elapsedMs: number
}

/**
 * How far work is that takes a while, on standard error: a bar on a terminal, elsewhere a line now and then. It shows that
 * time passes also while nothing is reported.
 */
export function showProgress(
  io: Pick<Io, 'err' | 'errIsTerminal' | 'errColumns' | 'clock' | 'stop'>,
  what: string,
  total?: number,
): Progress {
  const every = io.errIsTerminal ? BAR_EVERY_MS : LINE_EVERY_MS
  const begun = io.clock.now()
  const ended = new AbortController()
  let nextAt = begun + (io.errIsTerminal ? QUIET_MS : LINE_EVERY_MS)
  let isShown = false
  let [done, all] = [0, total]
  const show = () => {
    const now = io.clock.now()
    if (now < nextAt || ended.signal.aborted) return
    nextAt = now + every
    const text = progressText(what, { done, total: all, elapsedMs: now - begun })
    isShown = io.errIsTerminal
    // The last column stays free: some terminals go to the next line once it is taken.
    io.err(io.errIsTerminal ? `\r\x1b[K${barWithin(text, { done, total: all }, io.errColumns - 1)}` : `${text}\n`)
  }
  const clear = () => {
    if (isShown) io.err('\r\x1b[K')
    isShown = false
  }
  const tick = async () => {
    while (!ended.signal.aborted) {
      await io.clock.wait(Math.max(1, nextAt - io.clock.now()), ended.signal)
      show()
    }
  }
  void tick()
  const end = () => {
    ended.abort()
    clear()
  }
  // The line is clean for the text that follows a signal to stop.
  io.stop.addEventListener('abort', end, { once: true, signal: ended.signal })
  return {
    at: (now, of) => {
      done = now
      all = of
      show()
    },
    clear,
    end,
  }
}

function progressText(what: string, step: Step): string {
  const { done, total, elapsedMs } = step
  if (done === 0 && total === undefined) return `${what}, ${formatSpan(elapsedMs)} so far`
  const count = `${what}: ${formatCount(done)}${total === undefined ? '' : ` of ${formatCount(total)}`}`
  return [count, ...paceOf(step)].join(', ')
}

function paceOf({ done, total, elapsedMs }: Step): string[] {
  if (elapsedMs < RATE_AFTER_MS || done === 0) return []
  const perSecond = (done * 1_000) / elapsedMs
  const rate = perSecond >= 1 ? `${formatCount(perSecond)}/s` : `${formatCount(perSecond * 60)}/min`
  if (total === undefined || total <= done) return [rate]
  return [rate, `${formatSpan(((total - done) / perSecond) * 1_000)} left`]
}

/** The text is worth more than the bar, so a narrow terminal has only that. */
function barWithin(text: string, step: Omit<Step, 'elapsedMs'>, room: number): string {
  const withBar = step.total === undefined ? text : `${bar(step.done, step.total)}${text}`
  return cutToWidth(withBar.length <= room ? withBar : text, room)
}

function bar(done: number, total: number): string {
  const full = total === 0 ? BAR_WIDTH : Math.floor((Math.min(done, total) / total) * BAR_WIDTH)
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] `
}
