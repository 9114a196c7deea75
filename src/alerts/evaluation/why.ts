import type { AlertLevel, Because, Rising } from '../alert.ts'
import type { Acknowledged, SeriesState } from '../alert-state.ts'
import { risesTo } from './because.ts'
import { holding, type JudgedCondition, nearest, told } from './conditions.ts'

/** The state of a series now, and what is stored of it. */
export interface Stood {
  state: SeriesState | undefined
  stands: AlertLevel | 'ok' | 'pending' | 'unknown' | 'off'
}

/** The conditions of both levels, each with how it holds. */
export interface JudgedLevels {
  warning: JudgedCondition[]
  critical: JudgedCondition[]
}

/** Why a series is at the level that was decided; `polls` in a row must agree for a level to be entered. */
export function becauseOf(
  { state, stands }: Stood,
  judged: JudgedLevels,
  before: SeriesState | undefined,
  worseThan: Acknowledged | undefined,
  polls: number,
): Because {
  switch (stands) {
    case 'unknown':
      return whyUnknown(judged, before?.level ?? 'ok')
    case 'pending': {
      const { warning = 0, critical = 0 } = state?.pending ?? {}
      const level = critical >= warning ? 'critical' : 'warning'
      return { is: 'pending', polls: Math.max(warning, critical), of: polls, ...told(holdingAt(level, judged)) }
    }
    case 'warning':
    case 'critical':
      return whyInForce(holdingAt(stands, judged), risingOf(state, stands, polls), worseThan)
    default: {
      const next = nearest([...judged.warning, ...judged.critical])
      return next === undefined ? { is: 'nothing' } : { is: 'nothing', nearest: next }
    }
  }
}

/**
 * What holds a level. Nothing of its own need: polls that find critical count for warning too, and a warning in force
 * stays while critical is being confirmed.
 */
function holdingAt(level: AlertLevel, { warning, critical }: JudgedLevels): JudgedCondition {
  const [own, other] = level === 'warning' ? [warning, critical] : [critical, warning]
  const found = holding(own) ?? holding(other)
  if (found === undefined) throw new Error(`nothing holds the level ${level}, which is in force`)
  return found
}

function whyInForce(
  condition: JudgedCondition,
  rising: Rising | undefined,
  worseThan: Acknowledged | undefined,
): Because {
  const more = {
    ...(rising === undefined ? {} : { rising }),
    ...(worseThan === undefined ? {} : { worseThan: numbersOf(worseThan) }),
  }
  if (condition.holds === 'outright') return { is: 'holds', ...told(condition), ...more }
  const { threshold, margin, asks } = condition
  const until = risesTo(asks) ? threshold - margin : threshold + margin
  return { is: 'margin', ...told(condition), until, recoverBelow: margin, ...more }
}

function numbersOf({ usage = 0, percent, remaining }: Acknowledged) {
  return {
    usage,
    ...(percent === undefined ? {} : { percent }),
    ...(remaining === undefined ? {} : { remaining }),
  }
}

function risingOf(state: SeriesState | undefined, level: AlertLevel, of: number): Rising | undefined {
  const polls = state?.pending?.critical ?? 0
  return level === 'critical' || polls === 0 ? undefined : { level: 'critical', polls, of }
}

function whyUnknown({ warning, critical }: JudgedLevels, inForce: AlertLevel | 'ok'): Because {
  const asked = [...critical, ...warning].find(({ holds }) => holds === 'unknown')
  const missing = asked?.asks === 'daysLeft' ? 'forecast' : 'limit'
  return { is: 'unknown', missing, ...(inForce === 'ok' ? {} : { stays: inForce }) }
}
