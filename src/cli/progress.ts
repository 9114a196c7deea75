import { formatCount, formatSpan } from '../text/format-number.ts'
import type { Io } from './io.ts'

/** Faster work shows no progress. */
const QUIET_MS = 2_000
const LINE_EVERY_MS = 10_000
/** A rate is shown after so much time: before, it is too uncertain. */
const RATE_AFTER_MS = 3_000

interface Progress {
  /** `total` is undefined where it is not known. */
  at(done: number, total: number | undefined): void
  /** The work is over, and no more of it is shown. */
  end(): void
}

interface Step {
  done: number
  total: number | undefined
  elapsedMs: number
}

/** A line on standard error now and then while work takes a while, also while nothing is reported. */
export function showProgress(io: Pick<Io, 'err' | 'clock' | 'stop'>, what: string, total?: number): Progress {
  const begun = io.clock.now()
  const ended = new AbortController()
  let nextAt = begun + QUIET_MS
  let [done, all] = [0, total]
  const show = () => {
    const now = io.clock.now()
    if (now < nextAt || ended.signal.aborted) return
    nextAt = now + LINE_EVERY_MS
    io.err(`${progressText(what, { done, total: all, elapsedMs: now - begun })}\n`)
  }
  const tick = async () => {
    while (!ended.signal.aborted) {
      await io.clock.wait(Math.max(1, nextAt - io.clock.now()), ended.signal)
      show()
    }
  }
  void tick()
  const end = () => ended.abort()
  io.stop.addEventListener('abort', end, { once: true, signal: ended.signal })
  return {
    at: (now, of) => {
      done = now
      all = of
      show()
    },
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
