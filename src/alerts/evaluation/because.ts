import { defined } from '../../runtime/defined.ts'
import { cleanText } from '../../text/clean-text.ts'
import { countOf, formatCount, formatPercent } from '../../text/format-number.ts'
import type { AlertLevel, Because, Condition, LevelInForce, Quantity, Rising } from '../alert.ts'
import type { Acknowledged, SeriesState } from '../alert-state.ts'
import { conditionOf, holding, type JudgedCondition, nearest, risesTo } from './conditions.ts'

/** One plain sentence, without a full stop: `96 %, at or above the critical threshold (95 %)`. */
export function becauseText(because: Because): string {
  switch (because.is) {
    case 'holds':
      return `${holdsText(because)}${risingText(because)}${worseText(because)}`
    case 'margin':
      return `${because.level} stays until ${untilText(because)}: recoverBelow ${plain(because.recoverBelow)}${risingText(because)}${worseText(because)}`
    case 'pending':
      return `${because.polls} of ${countOf(because.of, 'poll')} ${agree(because.polls)} on ${because.level}: ${holdsText(because)}`
    case 'unknown':
      return unknownText(because)
    case 'off':
      return `the rule ${cleanText(because.rule, 100)} is off: it is not watched`
    case 'no-rule':
      return 'no rule watches it'
    case 'nothing':
      return because.nearest === undefined ? 'within the thresholds of its rule' : nearestText(because.nearest)
    case 'gone':
      return 'it is no longer reported'
  }
}

function holdsText({ level, asks, threshold, value }: Condition): string {
  // Less than nothing is left: that is no number to compare with.
  if (asks === 'remaining' && value < 0) {
    return `${formatCount(-value)} over its limit, below ${thresholdText(level, asks, threshold)}`
  }
  const side = risesTo(asks) ? 'at or above' : 'at or below'
  return `${amountText(asks, value)}, ${side} ${thresholdText(level, asks, threshold)}`
}

function untilText({ asks, until }: { asks: Quantity; until: number }): string {
  if (risesTo(asks)) return `below ${numberText(asks, until)}`
  return `more than ${numberText(asks, until)} ${until === 1 ? 'is' : 'are'} left`
}

function risingText({ rising }: LevelInForce): string {
  return rising === undefined
    ? ''
    : `; ${rising.polls} of ${countOf(rising.of, 'poll')} ${agree(rising.polls)} on ${rising.level}`
}

function agree(polls: number): string {
  return polls === 1 ? 'agrees' : 'agree'
}

function worseText({ worseThan }: LevelInForce): string {
  if (worseThan === undefined) return ''
  const { usage, percent } = worseThan
  return `; when it was acknowledged it was ${percent === undefined ? formatCount(usage) : formatPercent(percent)}`
}

function unknownText({ missing, stays }: { missing: 'limit' | 'forecast'; stays?: AlertLevel }): string {
  if (missing === 'forecast') {
    return `${stays === undefined ? 'it' : stays} depends on a forecast, and there is none now`
  }
  const without = 'no limit is reported to compare it with'
  return stays === undefined ? without : `${without}; ${stays} stays until there is one`
}

function nearestText({ level, asks, threshold, value }: Condition): string {
  return `${amountText(asks, value)}, ${risesTo(asks) ? 'below' : 'above'} ${thresholdText(level, asks, threshold)}`
}

function thresholdText(level: AlertLevel, asks: Quantity, threshold: number): string {
  return `the ${level} threshold (${numberText(asks, threshold)})`
}

function amountText(asks: Quantity, value: number): string {
  if (asks === 'remaining') return `${formatCount(value)} left`
  return asks === 'daysLeft' ? `${numberText(asks, value)} left` : numberText(asks, value)
}

function numberText(asks: Quantity, number: number): string {
  if (asks === 'daysLeft') return `${plain(number)} ${number === 1 ? 'day' : 'days'}`
  return asks === 'percent' ? `${plain(number)} %` : plain(number)
}

/** Rounded no further than the number is kept: more could put it on the other side of a threshold. */
function plain(number: number): string {
  exact ??= new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 })
  return exact.format(number)
}

let exact: Intl.NumberFormat | undefined

/** The state of a series now, and what is stored of it. */
export interface SeriesVerdict {
  state: SeriesState | undefined
  verdict: AlertLevel | 'ok' | 'pending' | 'unknown' | 'off'
}

/** The conditions of both levels, each with how it holds. */
export interface JudgedLevels {
  warning: JudgedCondition[]
  critical: JudgedCondition[]
}

/** The reasons for a level. */
interface Grounds extends SeriesVerdict {
  judged: JudgedLevels
  /** Before this reading. */
  inForce: AlertLevel | 'ok'
  worseThan: Acknowledged | undefined
  /** In a row that must agree for a level to be entered. */
  polls: number
}

/** Why a series is at the level that was decided. */
export function becauseOf({ state, verdict, judged, inForce, worseThan, polls }: Grounds): Because {
  switch (verdict) {
    case 'unknown':
      return whyUnknown(judged, inForce)
    case 'pending': {
      const { warning = 0, critical = 0 } = state?.pending ?? {}
      const level = critical >= warning ? 'critical' : 'warning'
      return { is: 'pending', polls: Math.max(warning, critical), of: polls, ...conditionOf(holdingAt(level, judged)) }
    }
    case 'warning':
    case 'critical':
      return whyInForce(holdingAt(verdict, judged), risingOf(state, verdict, polls), worseThan)
    default: {
      const next = nearest([...judged.warning, ...judged.critical])
      return next === undefined ? { is: 'nothing' } : { is: 'nothing', nearest: next }
    }
  }
}

/**
 * The condition that holds a level. It may be the other level's: polls that find critical count for warning too, and a
 * warning in force stays while critical is being confirmed.
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
  const more = defined({ rising, worseThan: worseThan && numbersOf(worseThan) })
  if (condition.holds === 'outright') return { is: 'holds', ...conditionOf(condition), ...more }
  const { threshold, margin, asks } = condition
  const until = risesTo(asks) ? threshold - margin : threshold + margin
  return { is: 'margin', ...conditionOf(condition), until, recoverBelow: margin, ...more }
}

function numbersOf({ usage = 0, percent, remaining }: Acknowledged) {
  return { usage, ...defined({ percent, remaining }) }
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
