import * as z from 'zod'
import { isAbout } from '../../src/alerts/evaluation/rules.ts'
import { METRICS, metricKind, REPORT_NAMES } from '../../src/limits/reports/all-reports.ts'
import { accountMatch } from './account-match.ts'
import {
  amount,
  asGroup,
  distinct,
  fill,
  oneOrMany,
  plainText,
  type ReportProblem,
  related,
  toggle,
  type Unchecked,
  wholeNumber,
} from './values.ts'

/** Not a series: what a rule may turn off, and no more. */
export const LIMIT_CHANGED = 'limit-changed'

/** The series that a rule's `on` names; one that is off takes more. */
export function metricsOn(on: unknown, off?: unknown): readonly string[] {
  return typeof on === 'string' ? METRICS.filter((metric) => isAbout({ on, off: off === true }, metric)) : []
}

const level = z
  .strictObject({
    percent: fill().exactOptional().describe('True at this percentage of the limit or more.'),
    count: wholeNumber(1, 1_000_000_000).exactOptional().describe('True at this usage or more.'),
    remaining: wholeNumber(0, 1_000_000_000).exactOptional().describe('True when so many, or fewer, are left.'),
    daysLeft: amount('must be a number of days')
      .exactOptional()
      .describe('True so many days before the limit, or less.'),
  })
  .describe('Any one of these conditions is enough.')

const typePattern = () =>
  plainText(/^[\d*]+(-[\d*]+)?$/, 'must be an objectTypeId like 0-1 or a pattern like 2-*, not a name')

const match = z
  .strictObject({
    ...accountMatch(),
    objectType: oneOrMany(typePattern()).exactOptional().describe('For series of one object type: objectTypeIds.'),
    from: oneOrMany(typePattern()).exactOptional().describe('For series of a pair: the objectTypeId it starts from.'),
    to: oneOrMany(typePattern()).exactOptional().describe('For series of a pair: the objectTypeId it leads to.'),
  })
  .describe('Further conditions of the rule. All must match.')

export const ruleNameText = () => plainText(/^[^\p{Cc}]{1,100}$/u, 'must be text of at most 100 characters')

const writtenRule = related(
  z.strictObject({
    name: ruleNameText().exactOptional().describe('Name of the rule in alerts. Default: its `on`.'),
    on: z
      .enum([...METRICS, ...REPORT_NAMES.map((name) => `${name}.*`), '*', LIMIT_CHANGED])
      .describe('The series that the rule is about; limit-changed, with off: true: no alerts about limits that moved.'),
    match: match.prefault({}),
    off: toggle().prefault(false).describe('true: what the rule matches is not watched.'),
    warning: level.exactOptional().describe('When the series is at warning: any of these conditions.'),
    critical: level.exactOptional().describe('When the series is at critical: any of these conditions.'),
    recoverBelow: amount('must be a number of at least 0')
      .exactOptional()
      .describe("How far inside a level's condition a series must be before it is left, in the condition's unit."),
  }),
  checkRule,
)

type WrittenRule = z.output<typeof writtenRule>

const thresholdRule = z.codec(writtenRule, z.custom<WrittenRule & { name: string }>(), {
  decode: (rule) => ({ ...rule, name: rule.name ?? rule.on }),
  encode: (rule) => rule,
})

export const thresholdRules = distinct(
  z.array(thresholdRule),
  ({ name, on }) => (typeof name !== 'string' || name === on ? undefined : name),
  'an earlier rule has this name',
  'name',
)

function checkRule(rule: Unchecked, report: ReportProblem): void {
  const series = metricsOn(rule.on)
  const levels = (['warning', 'critical'] as const).filter((name) => rule[name] !== undefined)
  if (rule.off === true && levels.length > 0)
    report(['off'], `off, but with ${levels.join(' and ')}: keep one of the two`)
  if (rule.on === LIMIT_CHANGED && rule.off !== true) report([], 'limit-changed can only be turned off: off: true')
  else if (rule.off !== true && levels.length === 0) report([], 'needs warning, critical or off: true')
  checkMatch(asGroup(rule.match), rule.on, series, report)
  for (const name of levels) checkLevel(asGroup(rule[name]), name, series, report)
  checkOrder(asGroup(rule.warning), asGroup(rule.critical), report)
}

function checkMatch(given: Unchecked, on: unknown, series: readonly string[], report: ReportProblem): void {
  if (series.length === 0) return
  const idle = (setting: string) => report(['match', setting], `can never match: ${String(on)} has no ${setting}`)
  const noneAbout = (what: string) => !series.some((metric) => metricKind(metric)?.about === what)
  if (given.objectType !== undefined && noneAbout('objectType')) idle('objectType')
  const noPairs = noneAbout('pair')
  for (const setting of ['from', 'to']) if (given[setting] !== undefined && noPairs) idle(setting)
}

function checkLevel(given: Unchecked, name: string, series: readonly string[], report: ReportProblem): void {
  const asked = ['percent', 'count', 'remaining', 'daysLeft'].filter((condition) => given[condition] !== undefined)
  if (asked.length === 0) report([name], 'needs at least one of percent, count, remaining, daysLeft')
  if (series.length === 0) return
  if (series.every((metric) => metricKind(metric)?.counts !== undefined)) {
    for (const condition of asked.filter((one) => one !== 'count')) {
      report(
        [name, condition],
        `${series.join(' and ')} is a number of records without a limit: only count can be asked`,
      )
    }
  }
  if (given.daysLeft !== undefined && series.every((metric) => metricKind(metric)?.isSample)) {
    report([name, 'daysLeft'], `${series.join(' and ')} is a sample: it has no forecast`)
  }
  // Counts have no percentage.
  const shares = series.filter((metric) => metricKind(metric)?.counts === undefined)
  const shownFrom = Math.min(...shares.map((metric) => metricKind(metric)?.shownFrom ?? 0))
  if (shares.length > 0 && typeof given.percent === 'number' && given.percent < shownFrom) {
    report(
      [name, 'percent'],
      `can't fire below ${shownFrom}: the provider reports a record as near its limit only from ${shownFrom} % on`,
    )
  }
}

function checkOrder(warning: Unchecked, critical: Unchecked, report: ReportProblem): void {
  for (const condition of ['percent', 'count', 'remaining', 'daysLeft']) {
    const [early, late] = [warning[condition], critical[condition]]
    if (typeof early !== 'number' || typeof late !== 'number') continue
    const towardsLimit = condition === 'percent' || condition === 'count'
    if (towardsLimit ? early > late : early < late) {
      const order = towardsLimit ? 'at most' : 'at least'
      report(['warning', condition], `must be ${order} that of critical: warning comes first`)
    }
  }
}

const LINES = new WeakMap<object, number>()

/** Kept beside the rules, not in them: a rule that moves to another line is the same setting. */
export function noteLines(rules: readonly object[], lineAt: (index: number) => number | undefined): void {
  for (const [index, rule] of rules.entries()) LINES.set(rule, lineAt(index) ?? 0)
}

/** The line of a rule in the file that it was read from. */
export function lineOf(rule: object): number | undefined {
  return LINES.get(rule) || undefined
}
