import { measures } from '../../src/alerts/evaluation/rules.ts'
import { metricKind } from '../../src/limits/reports/all-reports.ts'
import { fits } from '../../src/text/pattern.ts'
import { type Path, renderPath } from './problems.ts'
import type { Config } from './schema.ts'
import { LIMIT_CHANGED, metricsOn } from './thresholds.ts'

type Rule = Config['thresholds'][number]
type Tags = Config['tags']

const LEVELS = ['warning', 'critical'] as const
const CONDITIONS = ['percent', 'count', 'remaining', 'daysLeft'] as const

/** Rules that can't be meant: never first, never reached. Each is certain; what may be meant is not named. */
export function* lintRules(config: Config): Iterable<{ path: Path; message: string }> {
  const { thresholds, tags } = config
  for (const [index, rule] of thresholds.entries()) {
    const path = ['thresholds', index]
    if (rule.on === LIMIT_CHANGED) continue
    const series = seriesOfRule(rule)
    if (series.length === 0) {
      yield { path: [...path, 'match'], message: 'can never match: no series has all of what is asked here' }
      continue
    }
    const earlier = shadowedBy(thresholds.slice(0, index), rule, tags)
    if (earlier !== undefined) yield { path, message: `never decides: ${nameThem(earlier)} all that it is about` }
    yield* lintLevels(
      rule,
      series.filter((metric) => takerOf(thresholds.slice(0, index), metric, rule, tags) === -1),
      path,
    )
  }
  yield* lintTags(config)
}

/** The kinds of series that a rule can match: only those of object types have an objectType, only those of pairs a from and a to. */
function seriesOfRule(rule: Rule): string[] {
  const { on, off, match } = rule
  const { objectType, from, to } = match
  const asked = LEVELS.flatMap((name) => askedBy(rule, name))
  // A rule that asks nothing but `count` passes over what that does not fit.
  const isOnlyCount = !off && asked.every((one) => one === 'count')
  return metricsOn(on, off).filter(
    (metric) =>
      (objectType === undefined || metricKind(metric)?.about === 'objectType') &&
      ((from === undefined && to === undefined) || metricKind(metric)?.about === 'pair') &&
      (!isOnlyCount || measures(on, metric, 'count')),
  )
}

function askedBy(rule: Rule, name: (typeof LEVELS)[number]) {
  return CONDITIONS.filter((one) => rule[name]?.[one] !== undefined)
}

/** The earlier rules that take all that a rule is about, by their places; undefined where a series may be left for it. */
export function shadowedBy(earlier: readonly Rule[], rule: Rule, tags: Tags): number[] | undefined {
  const takers = new Set<number>()
  for (const metric of seriesOfRule(rule)) {
    const taker = takerOf(earlier, metric, rule, tags)
    if (taker === -1) return undefined
    takers.add(taker)
  }
  return [...takers].sort((a, b) => a - b)
}

/** The place of the rule that takes all of a metric that another is about; -1: none does. */
function takerOf(earlier: readonly Rule[], metric: string, { match }: Rule, tags: Tags): number {
  return earlier.findIndex((one) => seriesOfRule(one).includes(metric) && takesAll(one.match, match, tags))
}

function nameThem(places: readonly number[]): string {
  const names = places.map((place) => renderPath(['thresholds', place]))
  return names.length === 1 ? `${names[0]} comes first and takes` : `${names.join(' and ')} come first and take`
}

type Fits = (wider: string, narrower: string) => boolean

/**
 * True where a wider match covers all of a narrower one. Each condition of the wider one must follow from one of the
 * narrower one.
 */
function takesAll(wider: Rule['match'], narrower: Rule['match'], tags: Tags): boolean {
  const accounts = [narrower.account, carriers(narrower.tag, tags)]
  return (
    [wider.account, carriers(wider.tag, tags)].every((asked) =>
      accounts.some((given) => within(given, asked, widerAccount)),
    ) &&
    within(narrower.objectType, wider.objectType, fits) &&
    within(narrower.from, wider.from, fits) &&
    within(narrower.to, wider.to, fits)
  )
}

/** Any entry of a list is enough: each of the narrower list must be within one of the wider list. No list means all. */
function within(narrower: readonly string[] | undefined, wider: readonly string[] | undefined, isWider: Fits): boolean {
  if (wider === undefined) return true
  return narrower?.every((one) => wider.some((other) => isWider(other, one))) ?? false
}

/**
 * A pattern fits all that another fits if it fits the other as a text: a `*` there, which may be anything, is met by a `*`
 * alone. A number may be a hub id as well, which only the same number means, or a `*` that takes every domain.
 */
function widerAccount(wider: string, narrower: string): boolean {
  if (wider === narrower || /^\*+$/.test(wider)) return true
  return !/^\d+$/.test(narrower) && fits(wider.toLowerCase(), narrower.toLowerCase())
}

function carriers(names: readonly string[] | undefined, tags: Tags): readonly string[] | undefined {
  return names?.flatMap((name) => (Object.hasOwn(tags, name) ? (tags[name] ?? []) : []))
}

function* lintLevels(rule: Rule, series: readonly string[], path: Path): Iterable<{ path: Path; message: string }> {
  for (const name of LEVELS) {
    if (rule[name] === undefined || rule[name].count !== undefined) continue
    const counts = series.filter((metric) => metricKind(metric)?.counts !== undefined)
    if (counts.length > 0) {
      const [are, them] = counts.length === 1 ? ['is a count', 'it'] : ['are counts', 'them']
      const message = `${counts.join(' and ')} ${are}: without \`count\` this never fires for ${them}`
      yield { path: [...path, name], message }
    }
  }
  const { warning, critical } = rule
  if (warning === undefined || critical === undefined) return
  // Thresholds are in their order, so what is asked of both is met by critical first only if it is the same.
  const isCriticalToo = CONDITIONS.every((one) => warning[one] === undefined || warning[one] === critical[one])
  if (isCriticalToo)
    yield { path: [...path, 'warning'], message: 'never entered: a series that meets it is critical already' }
}

function* lintTags({ tags }: Config): Iterable<{ path: Path; message: string }> {
  for (const [name, accounts] of Object.entries(tags)) {
    if (accounts.length === 0) {
      yield { path: ['tags', name], message: 'no account carries it: what asks for this tag never matches' }
    }
  }
}
