import { countOf, formatCount, formatPercent, formatSpan } from './format-number.ts'
import { formatMoment } from './format-time.ts'

/** A moment (ms or ISO 8601) as a cell, as pages and mails show it; empty for none. */
export function momentCell(at: number | string | null): string {
  return at === null ? '' : formatMoment(new Date(at).getTime())
}

/** How long ago a moment (ms or ISO 8601) was: `3 min`; empty for none. */
export function ageCell(at: number | string | null, now: number): string {
  return at === null ? '' : formatSpan(now - new Date(at).getTime())
}

/** How long until a moment: `12 min`; `over` once it has come. */
export function leftCell(at: string | null, now: number): string {
  const leftMs = Date.parse(at ?? '') - now
  return at === null ? '' : leftMs <= 0 ? 'over' : formatSpan(leftMs)
}

/** The columns HUB ID and DOMAIN of an alert. */
export function accountCells({ hubId, hubDomain = '' }: { hubId: number | null; hubDomain?: string }): string[] {
  return hubId === null ? ['', 'all accounts'] : [String(hubId), hubDomain]
}

/** The columns LIMIT and % of a reading. */
export function limitCells({ limit, percent }: { limit: number | null; percent: number | null }): string[] {
  return [limit === null ? '' : formatCount(limit), percentCell(percent)]
}

/** Under a heading that has the sign: rounded as everywhere else. */
export function percentCell(percent: number | null): string {
  return percent === null ? '' : formatPercent(percent).replace(' %', '')
}

/** The column USAGE of an alert: the share of the limit, or how many records there are. */
export function usageCell({ percent, usage }: { percent?: number; usage?: number }): string {
  if (percent !== undefined) return formatPercent(percent)
  return usage === undefined ? '' : countOf(usage, 'record')
}
