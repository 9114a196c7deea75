import { measures } from '../../src/alerts/evaluation/rules.ts'
import { metricKind } from '../../src/limits/reports/all-reports.ts'
import { type Path, renderPath } from './problems.ts'
import type { Config } from './schema.ts'
import { LIMIT_CHANGED, metricsOn } from './thresholds.ts'

type Rule = Config['thresholds'][number]

const CONDITIONS = ['percent', 'count', 'remaining', 'daysLeft'] as const

/** Rules that can't be meant: never first, never reached. Each is certain; what may be meant is not named. */
export function* lintRules({ thresholds, tags }: Config): Iterable<{ path: Path; message: string }> {
  for (const [index, rule] of thresholds.entries()) {
    const path = ['thresholds', index]
    if (rule.on === LIMIT_CHANGED) continue
    const series = seriesOfRule(rule)
    if (series.length === 0) {
      yield { path: [...path, 'match'], message: 'can never match: no series has all of what is asked here' }
      continue
    }
    const earlier = thresholds.slice(0, index)
    const takers = shadowedBy(earlier, rule)?.map((place) => renderPath(['thresholds', place]))
    if (takers !== undefined) {
      const take = takers.length === 1 ? 'comes first and takes' : 'come first and take'
      yield { path, message: `never decides: ${takers.join(' and ')} ${take} all that it is about` }
    }
    const left = series.filter((metric) => takerOf(earlier, metric, rule) === -1)
    yield* lintLevels(rule, left, path)
  }
  for (const [name, accounts] of Object.entries(tags)) {
    const message = 'no account carries it: what asks for this tag never matches'
    if (accounts.length === 0) yield { path: ['tags', name], message }
  }
}

/** The kinds of series that a rule can match: only those of object types have an objectType, only those of pairs a from and a to. */
function seriesOfRule({ on, off, match, warning, critical }: Rule): string[] {
  const { objectType, from, to } = match
  const asked = CONDITIONS.filter((one) => (warning?.[one] ?? critical?.[one]) !== undefined)
  // A rule that asks nothing but `count` passes over what that does not fit.
  const isOnlyCount = !off && asked.every((one) => one === 'count')
  return metricsOn(on, off).filter((metric) => {
    const about = metricKind(metric)?.about
    if (objectType !== undefined && about !== 'objectType') return false
    if ((from ?? to) !== undefined && about !== 'pair') return false
    return !isOnlyCount || measures(on, metric, 'count')
  })
}

/** The earlier rules that take all that a rule is about, by their places; undefined where a series may be left for it. */
export function shadowedBy(earlier: readonly Rule[], rule: Rule): number[] | undefined {
  const takers = seriesOfRule(rule).map((metric) => takerOf(earlier, metric, rule))
  return takers.includes(-1) ? undefined : [...new Set(takers)].sort((a, b) => a - b)
}

/** The place of the rule that takes all of a metric that another is about; -1: none does. */
function takerOf(earlier: readonly Rule[], metric: string, { match }: Rule): number {
  return earlier.findIndex((one) => seriesOfRule(one).includes(metric) && takesAll(one.match, match))
}

/** True where a wider match asks for nothing that the narrower one does not ask for too. */
function takesAll(wider: Rule['match'], narrower: Readonly<Record<string, readonly string[]>>): boolean {
  return Object.entries(wider).every(([name, asked]) => narrower[name]?.every((one) => asked.includes(one)) ?? false)
}

function* lintLevels(rule: Rule, series: readonly string[], path: Path): Iterable<{ path: Path; message: string }> {
  const counts = series.filter((metric) => metricKind(metric)?.counts !== undefined)
  for (const name of ['warning', 'critical'] as const) {
    if (rule[name] === undefined || rule[name].count !== undefined || counts.length === 0) continue
    const [are, them] = counts.length === 1 ? ['is a count', 'it'] : ['are counts', 'them']
    const message = `${counts.join(' and ')} ${are}: without \`count\` this never fires for ${them}`
    yield { path: [...path, name], message }
  }
  const { warning, critical } = rule
  if (warning === undefined || critical === undefined) return
  // Thresholds are in their order, so what is asked of both is met by critical first only if it is the same.
  const isCriticalToo = CONDITIONS.every((one) => warning[one] === undefined || warning[one] === critical[one])
  if (isCriticalToo)
    yield { path: [...path, 'warning'], message: 'never entered: a series that meets it is critical already' }
}
