import { createTask, type ScheduledTask, schedule, validate } from 'node-cron'
import { systemClock } from '../src/runtime/clock.ts'
import { ClockWatch } from '../src/runtime/clock-watch.ts'
import type { Logger } from '../src/runtime/logger.ts'
import { NO_TRACING, type Tracing } from '../src/runtime/tracing.ts'
import type { Queues, SweepKind } from './queues.ts'

export interface Schedule {
  /** node-cron expressions, seconds allowed. */
  refreshTokens: string
  pollLimits: string
}

/** For sweeps that usually run because somebody woke them: the tick picks up what a crash left. */
const EVERY_FIVE_SECONDS = '*/5 * * * * *'
/** For what has a day's time, or is due at a minute. */
const EVERY_MINUTE = '0 * * * * *'
/** What is watched there moves by minutes and hours. */
const EVERY_HALF_MINUTE = '*/30 * * * * *'

const WATCH_EVERY_MS = 1_000
/**
 * A tick for which this process was too busy is made up for, up to an hour later: sweeps that have come to their end rely
 * on it. node-cron alone would drop what is a second late.
 */
const STILL_WORTH_IT_MS = 3_600_000

export interface Clock {
  /** When a tick of each kind was last handed on, ms. */
  lastTicks(): Partial<Record<SweepKind, number>>
  /** Ticks by other times from now on. */
  follow(times: Schedule): Promise<void>
  stop(): Promise<void>
}

/**
 * The clock says no more than "look who is due". Every daemon of this role ticks; the slot is the job's id, so that one sweep comes of
 * it. A tick that is missed, or comes twice, does no harm: what is due stands in the due sets.
 */
export function startClock(
  queues: Queues,
  times: Schedule,
  log: Logger,
  tracing: Tracing = NO_TRACING,
  watch = new ClockWatch(systemClock, () => performance.now()),
): Clock {
  const lastTicks: Partial<Record<SweepKind, number>> = {}
  const note = (kind: SweepKind, at: number) => {
    lastTicks[kind] = at
  }
  const deps = { queues, note, log, tracing }
  let current = times
  let tasks = startTicks(deps, current)
  const follow = async (next: Schedule) => {
    const before = tasks
    current = next
    tasks = startTicks(deps, current)
    await end(before)
  }
  // node-cron waits for the moment of its next tick by the clock on the wall: set back by an hour, it is silent for one.
  watch.mayHaveBeenSetBack()
  const watching = setInterval(() => {
    if (watch.mayHaveBeenSetBack()) void follow(current)
  }, WATCH_EVERY_MS)
  return {
    lastTicks: () => lastTicks,
    follow,
    stop: async () => {
      clearInterval(watching)
      await end(tasks)
    },
  }
}

/** A daemon that leaves ticking to others. */
export const NO_CLOCK: Clock = { lastTicks: () => ({}), follow: async () => {}, stop: async () => {} }

interface TickDeps {
  queues: Queues
  /** A tick was handed on. */
  note(kind: SweepKind, at: number): void
  log: Logger
  tracing: Tracing
}

function startTicks({ queues, note, log, tracing }: TickDeps, times: Schedule): ScheduledTask[] {
  const tick = (kind: SweepKind, at: number, handOn: () => Promise<void>) =>
    tracing
      .span('tick', { 'plimsoll.sweep': kind }, handOn)
      .then(() => note(kind, at))
      .catch((error: unknown) => {
        log.warn({ code: 'clock.tick', kind, err: error }, 'the tick could not be handed on')
      })
  return Object.entries(expressions(times)).map(([name, expression]) => {
    const kind = name as SweepKind
    const task = schedule(
      expression,
      async ({ date }) => {
        const at = date.getTime()
        await tick(kind, at, () => queues.tick(kind, at, nextOf(task)))
      },
      // UTC, because in a zone with summer time a pattern may have a hole of an hour once a year.
      { name, timezone: 'UTC', suppressMissedWarning: true, missedExecutionTolerance: STILL_WORTH_IT_MS },
    )
    // Who starts looks at once: some ticks are a minute apart. A tick of the times before must not stand in for it: its
    // chain ends where their next one would have come.
    void tick(kind, systemClock.now(), () => queues.look(kind, nextOf(task)))
    return task
  })
}

function nextOf(task: ScheduledTask): number | undefined {
  return task.getNextRuns(1)[0]?.getTime()
}

async function end(tasks: readonly ScheduledTask[]): Promise<void> {
  await Promise.all(tasks.map((task) => task.destroy()))
}

function expressions(times: Schedule): Record<SweepKind, string> {
  return {
    'refresh-tokens': times.refreshTokens,
    'poll-limits': times.pollLimits,
    uninstall: EVERY_FIVE_SECONDS,
    grants: EVERY_HALF_MINUTE,
    alerts: EVERY_FIVE_SECONDS,
    'tend-history': EVERY_MINUTE,
    coverage: EVERY_HALF_MINUTE,
    heartbeat: EVERY_HALF_MINUTE,
    digests: EVERY_MINUTE,
    receivers: EVERY_HALF_MINUTE,
  }
}

const HOUR_MS = 3_600_000
/** So many ticks are looked at; of the hours that have one, those of a week, a pause over a weekend included. */
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

/** Fifty ticks of an expression for office hours may all lie in one morning: so its hours are looked at as well. */
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
