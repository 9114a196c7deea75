import { createTask, validate } from 'node-cron'
import { type Clock, machineTime } from '../src/runtime/clock.ts'
import type { Logger } from '../src/runtime/logger.ts'
import type { Queues, SweepKind } from './queues.ts'

export interface Schedule {
  /** node-cron expressions, seconds allowed. */
  refreshTokens: string
  pollLimits: string
}

/** For sweeps that are usually woken: the tick picks up what a crash left. */
const EVERY_TEN_SECONDS = '*/10 * * * * *'
/** For what has a day's time, or is due at a minute. */
const EVERY_MINUTE = '0 * * * * *'
/** Interval of checks on values that move by minutes and hours. */
const EVERY_HALF_MINUTE = '*/30 * * * * *'

/** So long ahead the next tick is reckoned anew: the clock may have been set. */
const RECKONED_MS = 60_000

export interface TickingClock {
  /** Moments at which a tick of each kind was last handed on, ms. */
  lastTicks(): Partial<Record<SweepKind, number>>
  /** Ticks by other times from now on. */
  follow(services: { config: { schedule: Schedule } }): void
  stop(): void
}

/**
 * A tick carries nothing: it only starts the search for due work. Every daemon of this role ticks, and each that works ticks for itself. A tick that is missed, or comes twice, does no
 * harm: what is due is in the due sets.
 */
export function startClock(
  queues: Pick<Queues, 'handOn'>,
  times: Schedule,
  clock: Pick<Clock, 'now'>,
  log: Logger,
): TickingClock {
  const lastTicks: Partial<Record<SweepKind, number>> = {}
  const tick = (kind: SweepKind) => {
    const at = clock.now()
    queues.handOn(kind, at).then(
      () => {
        lastTicks[kind] = at
      },
      (error: unknown) => log.warn({ code: 'clock.tick', kind, err: error }, 'the tick could not be handed on'),
    )
  }
  const start = (by: Schedule) =>
    Object.entries(expressions(by)).map(([kind, expression]) => startTicks(expression, () => tick(kind as SweepKind)))
  let ticks = start(times)
  const stop = () => {
    for (const end of ticks) end()
  }
  return {
    lastTicks: () => lastTicks,
    follow: ({ config }) => {
      stop()
      ticks = start(config.schedule)
    },
    stop,
  }
}

/** A daemon that leaves ticking to others. */
export const NO_CLOCK: TickingClock = { lastTicks: () => ({}), follow: () => {}, stop: () => {} }

/** The first one at once: some are a minute apart. One for which the process was too busy is made up for. */
function startTicks(expression: string, tick: () => void): () => void {
  // UTC, because in a zone with summer time a pattern may have a hole of an hour once a year.
  const task = createTask(expression, () => undefined, { timezone: 'UTC' })
  let timer: NodeJS.Timeout
  const wait = () => {
    const ms = (task.getNextRuns(1)[0]?.getTime() ?? Number.POSITIVE_INFINITY) - machineTime()
    timer = setTimeout(
      () => {
        if (ms <= RECKONED_MS) tick()
        wait()
      },
      // The next run was in the future when it was found: it may be past by now.
      Math.max(0, Math.min(ms, RECKONED_MS)),
    )
  }
  tick()
  wait()
  return () => clearTimeout(timer)
}

function expressions(times: Schedule): Record<SweepKind, string> {
  return {
    'refresh-tokens': times.refreshTokens,
    'poll-limits': times.pollLimits,
    uninstall: EVERY_TEN_SECONDS,
    grants: EVERY_HALF_MINUTE,
    alerts: EVERY_TEN_SECONDS,
    'tend-history': EVERY_MINUTE,
    coverage: EVERY_HALF_MINUTE,
    heartbeat: EVERY_HALF_MINUTE,
    digests: EVERY_MINUTE,
    receivers: EVERY_HALF_MINUTE,
  }
}

const HOUR_MS = 3_600_000
/** So many ticks are computed; of the hours that have one, those of a week, a pause over a weekend included. */
const TICKS = 50
const HOURS = 200

const known = new WeakMap<Schedule, Record<SweepKind, number>>()

/**
 * The longest pause between two ticks, ms by kind: after some of them, silence means that nothing moves. Probes ask for it
 * all the time, and it takes a while: it is found once for each schedule.
 */
export function longestPauses(times: Schedule): Record<SweepKind, number> {
  const found = known.get(times) ?? findPauses(times)
  known.set(times, found)
  return found
}

function findPauses(times: Schedule): Record<SweepKind, number> {
  const pauses = Object.entries(expressions(times)).map(([kind, expression]) => [kind, longestPause(expression)])
  return Object.fromEntries(pauses) as Record<SweepKind, number>
}

/** Fifty ticks of an expression for office hours may all lie in one morning: so its hours are computed as well. */
function longestPause(expression: string): number {
  const fields = expression.trim().split(/\s+/)
  // `@daily` and its like have no fields.
  const betweenHours = fields.length < 5 ? 0 : widest(`0 0 ${fields.slice(-4).join(' ')}`, HOURS)
  return Math.max(widest(expression, TICKS), betweenHours > HOUR_MS ? betweenHours : 0)
}

function widest(expression: string, ticks: number): number {
  const runs = createTask(expression, () => undefined, { timezone: 'UTC' }).getNextRuns(ticks)
  return Math.max(...runs.slice(1).map((run, n) => run.getTime() - (runs[n]?.getTime() ?? 0)))
}

/** For checking a config: whether an expression is one. */
export function isCronExpression(expression: string): boolean {
  return validate(expression)
}
