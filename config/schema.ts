import * as z from 'zod'
import type { Secret } from '../src/runtime/secret.ts'
import { checkTagNames, tags } from './account-match.ts'
import { isPlainHttpElsewhere } from './addresses.ts'
import { drill } from './drill.ts'
import { heartbeat } from './heartbeat.ts'
import { limits } from './limits.ts'
import { unknownName } from './problems.ts'
import { receivers } from './receivers.ts'
import { asGroup, asList, isGroup, type Report, related, type Unchecked } from './relations.ts'
import { KINDS, routes } from './routes.ts'
import { metricsOn, thresholdRules } from './thresholds.ts'
import {
  bytesInBase64,
  duration,
  durationOrNever,
  hostPort,
  secret,
  secretAddress,
  share,
  text,
  toggle,
  webAddress,
  whole,
} from './values.ts'
import { timeZone } from './wall-time.ts'

/*
 * Every setting once: its type and unit, its default, its help. The type `Config`, the messages about a wrong file, the
 * JSON Schema for editors and the printed config all come from here. Defaults are written as the file would have them.
 */

const scope = () => text(/^[^\s,\p{Cc}]+$/u, 'must be the name of one scope, without spaces')

const provider = related(
  z.strictObject({
    api: z
      .enum(['v1', '2026-03'])
      .prefault('v1')
      .describe("Which version of the provider's OAuth and limits endpoints is spoken."),
    baseUrl: webAddress().prefault('https://api.hubapi.com').describe("Where the provider's API is."),
    installUrl: webAddress({ strip: false })
      .prefault('https://app.hubspot.com/oauth/authorize')
      .describe('The address that customers who install the app are sent to.'),
    clientId: text().describe("The app's client id."),
    clientSecret: secret().describe("The app's client secret."),
    redirectUri: webAddress({ strip: false })
      .exactOptional()
      .describe('Where the provider sends the code, as set for the app. Default: http.publicUrl + /oauth/callback.'),
    scopes: z
      .array(scope())
      .min(1, 'must have at least one scope')
      .prefault(['oauth'])
      .describe('Scopes an account must grant.'),
    optionalScopes: z.array(scope()).prefault([]).describe('Scopes an account may grant.'),
    timeout: duration({ min: '100ms', max: '120s' }).prefault('10s').describe('How long one call may take.'),
    connections: whole(4, 4_000)
      .prefault(64)
      .describe(
        'Calls under way at a time, for each process. Hundreds of them cost twice the CPU for each: raise it only where latency holds a large fleet up.',
      ),
    accountRate: z
      .strictObject({
        requests: whole(1, 10_000).prefault(20).describe('Calls for one account ...'),
        per: duration({ min: '100ms', max: '1h' }).prefault('10s').describe('... within so long.'),
      })
      .prefault({})
      .describe("Plimsoll's own share of one account's rate limit: a sliding window over all workers."),
    tokenRate: z
      .strictObject({
        requests: whole(1, 1_000_000).prefault(1_000).describe('Token requests of all workers together ...'),
        per: duration({ min: '100ms', max: '1h' }).prefault('1s').describe('... within so long.'),
      })
      .prefault({})
      .describe('Never more than this. What the provider allows is learnt from its 429s; usually it is less.'),
    errorCeiling: share()
      .prefault('5%')
      .describe('Share of all calls that may be errors: retries wait rather than push it higher.'),
    insecure: toggle().prefault(false).describe('Allows http:// for hosts other than this machine.'),
  }),
  (given, report) => plainHttp(given, ['baseUrl', 'installUrl', 'redirectUri'], 'provider.insecure', report),
).describe('The CRM provider and the app that is installed in its accounts.')

const redisHosts = () => z.array(hostPort()).min(1, 'must have at least one host:port')

const redis = related(
  z.strictObject({
    url: secretAddress(['redis', 'rediss'])
      .exactOptional()
      .describe('One server: redis://user:password@host:6379/0, rediss:// with TLS.'),
    sentinels: redisHosts().exactOptional().describe('host:port of the sentinels that know the master `name`.'),
    name: text().exactOptional().describe('What the sentinels call the master.'),
    cluster: redisHosts().exactOptional().describe('host:port of some nodes of a Redis cluster.'),
    password: secret().exactOptional().describe('For sentinels and cluster; with `url` it is part of the address.'),
    tls: toggle().prefault(false).describe('Connect with TLS.'),
    prefix: text(/^[A-Za-z0-9_.-]{1,40}$/, 'must be 1 to 40 letters, digits, _ . or -')
      .prefault('plimsoll')
      .describe('What every key starts with.'),
  }),
  checkRedis,
).describe('The Redis server. Without url, sentinels or cluster a private one is run inside `dataDir`.')

const keyFile = {
  make: (file: string) => `to make one: openssl rand -base64 32 > ${file}`,
  fault: (key: string) =>
    bytesInBase64(key.trim()) === 32 ? undefined : 'must be 32 bytes in base64; to make one: openssl rand -base64 32',
}

const encryption = z
  .strictObject({
    keys: z
      .array(
        z.strictObject({
          id: text(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 letters, digits, _ or -').describe(
            'Names the key beside everything it encrypted. Never give an id to another key.',
          ),
          key: secret(keyFile).describe(
            '32 bytes in base64. As a systemd credential: keyFile: ${CREDENTIALS_DIRECTORY}/k1.',
          ),
        }),
      )
      .min(1, 'must have at least one key')
      .superRefine(
        (keys, context) => {
          const seen = new Set<unknown>()
          for (const [index, key] of asList(keys).entries()) {
            const { id } = asGroup(key)
            if (seen.has(id))
              context.addIssue({ code: 'custom', path: [index, 'id'], message: 'an earlier key has this id' })
            if (id !== undefined) seen.add(id)
          }
        },
        { when: () => true },
      )
      .describe('The first one encrypts, all decrypt. Taken over on SIGHUP.'),
  })
  .describe('What stored tokens are encrypted with. Without it a key is made at the first start, in `dataDir`/keys.')

const cron = (fallback: string) =>
  text(
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
    refreshFrom: share()
      .prefault('50%')
      .describe("Share of a token's life after which it is refreshed when there is time."),
    refreshBy: share().prefault('80%').describe("Share of a token's life by which it must have been refreshed."),
  }),
  ({ refreshFrom, refreshBy }, report) => {
    if (typeof refreshFrom !== 'number' || typeof refreshBy !== 'number' || refreshFrom < refreshBy) return
    report(['refreshFrom'], 'must be less than refreshBy')
  },
).describe('When access tokens are refreshed.')

const alerts = z
  .strictObject({
    recoverBelow: z
      .number('must be a number')
      .min(0, 'must be from 0 to 100')
      .max(100, 'must be from 0 to 100')
      .prefault(3)
      .describe(
        'Percentage points inside a percent condition before a level is left, so that alerts do not flap. Other conditions: see `recoverBelow` of a rule in `thresholds`.',
      ),
    for: whole(0, 100)
      .prefault(0)
      .describe('Polls in a row that must agree before a level is entered; 0 and 1: at once.'),
    repeatEvery: duration({ min: '1s', max: '365d' }).prefault('24h').describe('How often a firing alert is repeated.'),
    worse: z
      .enum(['on', 'off'], 'must be on or off')
      .prefault('on')
      .describe(
        'on: what gets worse at its level - 5 percentage points, half of what remained, one more record at its limit - is ' +
          'sent again, at most once in `group.interval`. off: only a higher level is.',
      ),
    acknowledgeFor: duration({ min: '1m', max: '365d' })
      .prefault('7d')
      .describe('How long an acknowledged alert is not repeated, unless it gets worse.'),
    group: z
      .strictObject({
        by: z
          .array(z.enum(['rule', 'account', 'level', 'kind']))
          .prefault(['account'])
          .describe(
            'What alerts must have in common to share a message. By account alone: alerts of one rule that begin at five accounts or ' +
              'more within `wait` are one message by rule, and so are those that follow within `interval`, their repeats and ends, ' +
              'and five ends or more within `wait`.',
          ),
        wait: duration({ min: 0, max: '1h' }).prefault('30s').describe('How long a new group waits for more.'),
        interval: duration({ min: 0, max: '1d' })
          .prefault('5m')
          .describe('Least time between two messages of a group.'),
        max: whole(1, 10_000).prefault(200).describe('Most alerts in one message; it counts the rest.'),
      })
      .prefault({})
      .describe('How alerts are gathered into messages.'),
    firstRun: z
      .enum(['digest', 'alert'])
      .prefault('digest')
      .describe(
        "digest: what accounts' very first readings breach comes as one ranked message. alert: like any other.",
      ),
    drill,
  })
  .describe('How a crossed threshold becomes a message.')

const uninstall = z
  .strictObject({
    keep: duration({ min: 0, max: '3650d' })
      .prefault('30d')
      .describe('How long the record and the readings of an uninstalled account are kept; 0: not at all.'),
    afterRefused: durationOrNever({ min: '1h', max: '3650d' })
      .prefault('never')
      .describe(
        'An account whose refresh token has been refused for so long is uninstalled; checked once a day. never: it ' +
          'waits until its customer connects it again.',
      ),
  })
  .describe('What happens to accounts that leave.')

const http = related(
  z.strictObject({
    listen: hostPort().prefault('127.0.0.1:8088').describe('host:port to listen on.'),
    publicUrl: webAddress().describe('Where people and the provider reach this server.'),
    adminToken: secret({
      fault: (token) => {
        if (!/^[!-~]+$/.test(token)) return 'must be letters, digits and signs without spaces'
        return token.length < 16 ? 'must have at least 16 characters; to make one: openssl rand -base64 24' : undefined
      },
    })
      .exactOptional()
      .describe(
        'What pages, API and metrics ask for, beside named tokens (admin-tokens add). Without it the first start makes one in ' +
          'dataDir/admin-token.',
      ),
    metrics: z
      .enum(['token', 'open'])
      .prefault('token')
      .describe('Who may read /metrics: token: clients with an admin token with the scope read; open: any client.'),
    timeZone: timeZone()
      .exactOptional()
      .describe(
        "IANA name of the time zone of times in pages, mails and commands: Europe/Berlin. Default: the machine's.",
      ),
    insecure: toggle().prefault(false).describe('Allows http:// in publicUrl for hosts other than this machine.'),
  }),
  (given, report) => plainHttp(given, ['publicUrl'], 'http.insecure', report),
).describe('The HTTP server: install, callback, health, pages, API.')

const log = z
  .strictObject({
    level: z
      .enum(['debug', 'info', 'warn', 'error', 'silent'])
      .prefault('info')
      .describe('Least level that is logged.'),
    pretty: toggle().prefault(false).describe('Lines for people instead of JSON, on standard output.'),
    file: text()
      .exactOptional()
      .describe(
        'A file to append JSON lines to, in place of standard output. Opened anew on SIGHUP: logrotate may move it.',
      ),
  })
  .describe('The log: JSON lines, on standard output unless `file` is set.')

// A group that is left out is checked like an empty one, so that what it must have is named setting by setting.
export const settings = related(
  z.strictObject({
    provider: provider.prefault({} as z.input<typeof provider>),
    redis: redis.prefault({}),
    dataDir: text()
      .prefault('./.plimsoll')
      .describe(
        'Where the embedded Redis, made keys and new tokens that Redis did not take are kept. It and all other relative paths of the file start from its folder.',
      ),
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
      ])
      .describe('The first rule that matches a series decides about it.'),
    alerts: alerts.prefault({}),
    routes: routes.describe('Who gets which alerts: the first route that matches decides.'),
    receivers: receivers.describe('Where messages go, by name.'),
    heartbeat: heartbeat.exactOptional(),
    http: http.prefault({} as z.input<typeof http>),
    log: log.prefault({}),
  }),
  (given, report) => {
    checkNames(given, report)
    checkTagNames(given, report)
  },
)

export const configSchema = settings.transform(({ provider, http, ...rest }) => ({
  provider: { ...provider, redirectUri: provider.redirectUri ?? `${http.publicUrl}/oauth/callback` },
  http,
  ...rest,
}))

/** The whole config, defaults filled in. Durations are milliseconds, percentages 0-100, shares 0-1, paths absolute. */
export type Config = DeepReadonly<z.output<typeof configSchema>>

export type DeepReadonly<T> = T extends Secret | string | number | boolean | undefined
  ? T
  : { readonly [K in keyof T]: DeepReadonly<T[K]> }

function plainHttp(given: Unchecked, names: readonly string[], permission: string, report: Report): void {
  if (given.insecure === true) return
  for (const name of names) {
    const address = given[name]
    if (typeof address !== 'string' || !isPlainHttpElsewhere(address)) continue
    report([name], `must start with https:// (http:// needs ${permission}: true, or a host that is this machine)`)
  }
}

function checkRedis(given: Unchecked, report: Report): void {
  const ways = ['url', 'sentinels', 'cluster'].filter((way) => given[way] !== undefined)
  if (ways.length > 1) report([], `has ${ways.join(' and ')}: keep one of them`)
  if (given.sentinels !== undefined && given.name === undefined) report(['name'], 'required with sentinels')
  if (given.sentinels === undefined && given.name !== undefined) report(['name'], 'has a meaning only with sentinels')
  const needless = 'has a meaning only with a server of your own: give url, sentinels or cluster'
  if (given.password !== undefined && ways.length === 0) report(['password'], needless)
  if (given.password !== undefined && given.url !== undefined)
    report(['password'], 'is part of the address of url: keep one of them')
  if (given.tls === true && ways.length === 0) report(['tls'], needless)
}

/** Names that other settings refer to: receivers in routes, rules in routes. */
function checkNames(given: Unchecked, report: Report): void {
  const known = isGroup(given.receivers) ? Object.keys(given.receivers) : undefined
  const names = asList(given.thresholds).map((rule) => asGroup(rule).name ?? asGroup(rule).on)
  const rules = names.every((name) => typeof name === 'string') ? [...new Set([...names, ...KINDS])] : undefined
  for (const [index, route] of asList(given.routes).entries()) {
    const { to, match } = asGroup(route)
    for (const [position, name] of asList(to).entries()) {
      if (known === undefined || typeof name !== 'string' || known.includes(name)) continue
      report(['routes', index, 'to', position], unknownName(name, known, 'no receiver has this name'))
    }
    for (const [position, name] of asList(asGroup(match).rule).entries()) {
      if (rules === undefined || typeof name !== 'string' || rules.includes(name)) continue
      // Names that were given may come from the environment: only those that are the same everywhere are listed.
      const listed = rules.filter((rule) => metricsOn(rule).length > 0 || (KINDS as readonly string[]).includes(rule))
      report(['routes', index, 'match', 'rule', position], unknownName(name, rules, 'no rule has this name', listed))
    }
  }
}
