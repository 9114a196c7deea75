import { type DialectName, endOf } from '../provider/dialects.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

const WARN_DAYS = 180

/** How long the provider still answers in the configured version of its interface. */
export function checkEndDate(api: DialectName, now: number): Finding {
  const end = endOf(api, now)
  if (end === undefined) return ok('end-date', `the provider has set no end to ${api}`)
  const { day, daysLeft } = end
  const fix = 'set provider.api: 2026-03 and restart'
  if (daysLeft < 0) return fail('end-date', `the provider switched ${api} off on ${day}`, fix)
  const detail = `the provider switches ${api} off on ${day}: ${daysLeft} ${daysLeft === 1 ? 'day' : 'days'} left`
  return daysLeft < WARN_DAYS ? warn('end-date', detail, fix) : ok('end-date', detail)
}
