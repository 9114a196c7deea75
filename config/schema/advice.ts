import { join } from 'node:path'
import { isAlwaysQuiet } from '../../src/alerts/route.ts'
import { receiverKind } from '../../src/delivery/receivers/all-receivers.ts'
import { reportOf } from '../../src/limits/reports/all-reports.ts'
import { endOf, opensLimits } from '../../src/provider/dialects.ts'
import { isThisMachine } from './addresses.ts'
import { lintRules } from './lint-rules.ts'
import type { Path } from './problems.ts'
import type { Config } from './schema.ts'
import { metricsOn } from './thresholds.ts'

export interface Advice {
  path: Path
  message: string
}

/** Notices on settings that work as written, at the start and in `config check`. */
export function advise(config: Config, now: number): Advice[] {
  return [
    ...adviseProvider(config, now),
    ...adviseRedis(config),
    ...adviseLimits(config),
    ...lintRules(config),
    ...adviseRoutes(config),
    ...adviseQuietHours(config, now),
    ...adviseReceivers(config),
    ...adviseHttp(config),
  ]
}

function* adviseProvider({ provider: { api, scopes, optionalScopes } }: Config, now: number): Iterable<Advice> {
  const { is, message, fix } = endOf(api, now)
  if (is !== 'far') yield { path: ['provider', 'api'], message: `${message}: ${fix}` }
  if (opensLimits([...scopes, ...optionalScopes])) return
  yield {
    path: ['provider', 'scopes'],
    message:
      'no scope here opens the limits endpoints: HubSpot will answer polls with 403; add one of crm.objects.*.read, ' +
      'crm.objects.*.write, tickets, e-commerce, media_bridge.read',
  }
}

function* adviseRedis({ redis: { url, sentinels, cluster, tls } }: Config): Iterable<Advice> {
  const { protocol, hostname = '' } = URL.parse(url?.reveal() ?? '') ?? {}
  if (tls || protocol === 'rediss:') return
  const hosts = Object.entries({ url: url && [{ host: hostname }], sentinels, cluster })
  for (const [name, given = []] of hosts) {
    const elsewhere = given.find(({ host }) => !isThisMachine(host))
    if (elsewhere === undefined) continue
    yield {
      path: ['redis', name],
      message:
        `an eavesdropper on the traffic to ${elsewhere.host} reads the password and everything stored, and can change it: ` +
        `${name === 'url' ? 'rediss://' : 'tls: true'} encrypts it; needless only in a network that is yours alone`,
    }
  }
}

function* adviseLimits({ limits, thresholds }: Config): Iterable<Advice> {
  const isOfPairs = (metric: string) => reportOf({ metric })?.perPair !== undefined
  const watched = thresholds.some(({ on, off }) => !off && metricsOn(on).some(isOfPairs))
  const isEmpty = [limits, ...limits.accounts].every(({ associations = [] }) => associations.length === 0)
  if (!isEmpty || !watched) return
  yield {
    path: ['limits', 'associations'],
    message:
      'empty: association limits are not polled; auto watches all pairs, or list them, like { from: "0-1", to: "0-2" }',
  }
}

function* adviseRoutes({ routes, receivers, tokens, http }: Config): Iterable<Advice> {
  // A route to contacts alone leaves the alerts of all other accounts to the routes below it.
  const isPartial = (name: string) => receivers[name]?.type === 'email' && receivers[name].to === 'account'
  const catchAll = routes.findIndex(({ match, to }) => Object.keys(match).length === 0 && !to.every(isPartial))
  if (catchAll === -1) {
    const message = 'alerts that no route matches are not sent: add a last route without `match`'
    yield { path: ['routes'], message }
  }
  for (const index of routes.keys()) {
    const message = `can never match: routes[${catchAll}] matches everything`
    if (catchAll !== -1 && index > catchAll) yield { path: ['routes', index], message }
  }
  if (http.brand.name === undefined && (tokens.mailInstaller || Object.keys(receivers).some(isPartial))) {
    const message = 'not set: no mail is sent to customers, who must know who writes to them'
    yield { path: ['http', 'brand', 'name'], message }
  }
  const used = new Set(routes.flatMap(({ to }) => to))
  for (const [name, settings] of Object.entries(receivers)) {
    const takesAccounts = settings.type === 'webhook' && settings.events?.includes('accounts')
    if (!used.has(name) && !takesAccounts && !(tokens.mailInstaller && isPartial(name)))
      yield { path: ['receivers', name], message: 'no route sends anything here' }
  }
}

function* adviseQuietHours({ routes }: Config, now: number): Iterable<Advice> {
  for (const [index, { match, quiet }] of routes.entries()) {
    if (quiet === undefined) continue
    const path = ['routes', index, 'quiet']
    if (isAlwaysQuiet(quiet, now)) {
      yield { path, message: 'all week: what this route takes is never sent' }
    } else if (match.level?.includes('critical') !== false && !routes.slice(0, index).some(takesAllCritical)) {
      const message =
        'critical alerts are held back too; a route for them above this one, with `match: { level: critical }` and without ' +
        '`quiet`, sends them at once'
      yield { path, message }
    }
  }
}

function takesAllCritical({ match }: Config['routes'][number]): boolean {
  const { level, ...others } = match
  return level?.includes('critical') !== false && Object.keys(others).length === 0
}

function* adviseReceivers({ receivers }: Config): Iterable<Advice> {
  const [name, ...others] = Object.keys(receivers)
  const message = `if ${name} fails, no alert reaches you: add a second receiver`
  if (others.length === 0) yield { path: ['receivers'], message }
  for (const [name, settings] of Object.entries(receivers)) {
    for (const { path, message } of receiverKind(settings).advise?.(settings) ?? [])
      yield { path: ['receivers', name, ...path], message }
  }
}

function* adviseHttp({ http, dataDir }: Config): Iterable<Advice> {
  const { protocol, hostname = '', port, pathname } = new URL(http.publicUrl)
  const publicPort = Number(port) || (protocol === 'https:' ? 443 : 80)
  const path = ['http', 'publicUrl']
  if (isThisMachine(hostname) && publicPort !== http.listen.port) {
    const message = `this machine at port ${publicPort}, but http.listen has port ${http.listen.port}: links and the redirect work only if a proxy is there`
    yield { path, message }
  }
  if (pathname !== '/') {
    yield { path, message: 'has a path: links between pages leave it out, so give Plimsoll a host name of its own' }
  }
  if (http.adminToken === undefined) {
    const file = join(dataDir, 'admin-token')
    yield {
      path: ['http'],
      message: `no adminToken: pages and API use the token in ${file}, which the first start creates`,
    }
  }
}
