import * as z from 'zod'
import { REPORTS } from '../../src/limits/reports/all-reports.ts'
import type { DeepReadonly } from '../../src/runtime/deep-readonly.ts'
import { tags } from './account-match.ts'
import { alerts } from './alerts.ts'
import { heartbeat, http, logging } from './http.ts'
import { limits } from './limits.ts'
import { type Path, unknownName } from './problems.ts'
import { provider } from './provider.ts'
import { receivers } from './receivers.ts'
import { encryption, redis } from './redis.ts'
import { KINDS, routes } from './routes.ts'
import { metricsOn, thresholdRules } from './thresholds.ts'
import {
  asGroup,
  asList,
  duration,
  durationOrNever,
  isGroup,
  plainText,
  type ReportProblem,
  related,
  share,
  toggle,
  type Unchecked,
} from './values.ts'

/*
 * Every setting once: its type and unit, its default, its help. The type `Config`, the messages about a wrong file, the
 * JSON Schema for editors and the printed config all come from here. Defaults are written as the file would have them.
 */

const cron = (fallback: string) =>
  plainText(
    /^\S+(\s+\S+){4,5}$/,
    'must be a cron expression: 5 fields, or 6 with seconds first, like */10 * * * * *',
  ).prefault(fallback)

const schedule = z
  .strictObject({
    refreshTokens: cron('*/10 * * * * *').describe('When to search for tokens that are due (cron, seconds allowed).'),
    pollLimits: cron('*/15 * * * * *').describe('When to search for accounts that are due for a poll (cron).'),
  })
  .describe('How often due work is searched. `tokens` and `limits` set when it is due.')

const tokens = related(
  z.strictObject({
    refreshFrom: share().prefault('50%').describe("Share of a token's life after which it may be refreshed ..."),
    refreshBy: share().prefault('80%').describe('... and by which it must have been.'),
    mailInstaller: toggle()
      .prefault(false)
      .describe('true: the contact of an account that must reconnect is mailed the link.'),
  }),
  ({ refreshFrom, refreshBy }, report) => {
    if (typeof refreshFrom !== 'number' || typeof refreshBy !== 'number' || refreshFrom < refreshBy) return
    report(['refreshFrom'], 'must be less than refreshBy')
  },
).describe('When access tokens are refreshed.')

const uninstall = z
  .strictObject({
    keep: duration({ min: 0, max: '3650d' }).prefault('30d').describe('How long what is known of them is kept.'),
    afterRefused: durationOrNever({ min: '1h', max: '3650d' })
      .prefault('never')
      .describe('An account whose refresh token has been refused for so long is uninstalled.'),
  })
  .describe('Uninstalled accounts.')

// A group that is left out is checked like an empty one, so that what it must have is named setting by setting.
export const settings = related(
  z.strictObject({
    provider: provider.prefault({} as z.input<typeof provider>),
    redis: redis.prefault({}),
    dataDir: plainText()
      .prefault('./.plimsoll')
      .describe('Folder of the private Redis and of generated keys. Relative paths start from the folder of the file.'),
    encryption: encryption.exactOptional(),
    schedule: schedule.prefault({}),
    tokens: tokens.prefault({}),
    limits: limits.prefault({}),
    tags: tags.prefault({}).describe('Names for some accounts, to be used in `match`.'),
    uninstall: uninstall.prefault({}),
    thresholds: thresholdRules
      .prefault([
        { on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } },
        { on: 'customProperties.objectType', warning: { percent: 80 }, critical: { percent: 95 } },
        { on: 'associations.atLimit', warning: { count: 1 } },
        { on: 'associations.fullest', warning: { percent: 90 }, critical: { percent: 100 } },
        ...REPORTS.filter(({ mayLack }) => mayLack).map(({ name }) => ({
          on: `${name}.*`,
          warning: { percent: 80 },
          critical: { percent: 95 },
        })),
      ])
      .describe('The first rule that matches a series decides about it.'),
    alerts: alerts.prefault({}),
    routes: routes.describe('Routes of alerts to receivers: the first route that matches decides.'),
    receivers: receivers.describe('Receivers of messages, by name.'),
    heartbeat: heartbeat.exactOptional(),
    http: http.prefault({} as z.input<typeof http>),
    log: logging.prefault({}),
  }),
  checkNames,
)

type Settings = z.output<typeof settings>

export const configSchema = z.codec(settings, z.custom<Settings & { provider: { redirectUri: string } }>(), {
  decode: ({ provider, ...rest }) => ({
    ...rest,
    provider: { ...provider, redirectUri: provider.redirectUri ?? `${rest.http.publicUrl}/oauth/callback` },
  }),
  encode: (config) => config,
})

/** The whole config, defaults filled in. Durations are milliseconds, percentages 0-100, shares 0-1, paths absolute. */
export type Config = DeepReadonly<z.output<typeof configSchema>>

/**
 * Names that other settings refer to: receivers and rules in routes, tags in every `match`. Where the group that defines
 * them is wrong, that is what has to be fixed.
 */
function checkNames({ receivers, tags, limits, thresholds, routes, tokens }: Unchecked, report: ReportProblem): void {
  const rules = asList(thresholds).map((rule) => asGroup(rule).name ?? asGroup(rule).on)
  const known = rules.every((name) => typeof name === 'string') ? [...new Set([...rules, ...KINDS])] : undefined
  // Names that were given may come from the environment: only those that are the same everywhere are listed.
  const listed = known?.filter((rule) => metricsOn(rule).length > 0 || (KINDS as readonly string[]).includes(rule))
  const check = (path: Path, used: unknown, names: readonly string[] | undefined, what: string, shown = names) => {
    for (const [position, name] of asList(used).entries()) {
      if (names === undefined || typeof name !== 'string' || names.includes(name)) continue
      report([...path, position], unknownName(name, names, what, shown))
    }
  }
  for (const [index, route] of asList(routes).entries()) {
    const { to, match } = asGroup(route)
    check(['routes', index, 'to'], to, namesOf(receivers), 'no receiver has this name')
    check(['routes', index, 'match', 'rule'], asGroup(match).rule, known, 'no rule has this name', listed)
    for (const [position, name] of asList(to).entries()) {
      const { events } = asGroup(asGroup(receivers)[String(name)])
      if (events !== undefined && !asList(events).includes('alerts'))
        report(['routes', index, 'to', position], 'accepts no alerts: its events have none')
    }
  }
  for (const [path, items] of [
    [['thresholds'], thresholds],
    [['limits', 'accounts'], asGroup(limits).accounts],
    [['routes'], routes],
  ] as const) {
    for (const [index, item] of asList(items).entries()) {
      const { tag } = asGroup(asGroup(item).match)
      check([...path, index, 'match', 'tag'], tag, namesOf(tags), 'no tag has this name')
    }
  }
  const types = Object.values(asGroup(receivers)).map((receiver) => asGroup(receiver).type)
  if (asGroup(tokens).mailInstaller === true && !types.includes('email'))
    report(['tokens', 'mailInstaller'], 'needs a receiver of type email: its server sends the mails')
}

const namesOf = (group: unknown) => (isGroup(group) ? Object.keys(group) : undefined)
