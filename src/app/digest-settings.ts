import type { Config } from '../../config/schema.ts'
import type { DigestSettings } from '../../jobs/job-deps.ts'
import { withTags } from '../accounts/match-account.ts'
import { pageOf } from './announcers.ts'

/** Who gets a digest when, and of what. */
export function digestSettings(config: Config): DigestSettings {
  const schedules = Object.entries(config.receivers).flatMap(([name, { digest }]) =>
    digest === undefined ? [] : [[name, { ...digest, on: digest.on ?? 'mon' }] as const],
  )
  return {
    schedules: new Map(schedules),
    routes: withTags(config.routes, config.tags),
    rules: withTags(config.thresholds, config.tags),
    max: config.alerts.group.max,
    pageOf: pageOf(config),
    page: `${config.http.publicUrl}/`,
  }
}
