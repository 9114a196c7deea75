import { join } from 'node:path'
import { isAlwaysQuiet } from '../../src/alerts/route.ts'
import { receiverKind } from '../../src/delivery/receivers/all-receivers.ts'
import { reportOf } from '../../src/limits/reports/all-reports.ts'
import { endOf, opensLimits } from '../../src/provider/dialects.ts'
import type { Secret } from '../../src/runtime/secret.ts'
import { isThisMachine } from './addresses.ts'
import { formatDuration } from './duration.ts'
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
    ...adviseEnd(config, now),
    ...adviseProvider(config),
    ...adviseRedis(config),
    ...adviseLimits(config),
    ...adviseHistory(config),
    ...lintRules(config),
    ...adviseRoutes(config),
    ...adviseQuietHours(config, now),
    ...adviseReceivers(config),
    ...adviseAcknowledging(config),
    ...adviseHeartbeat(config),
    ...adviseHttp(config),
  ]
}

function* adviseEnd({ provider: { api } }: Config, now: number): Iterable<Advice> {
  const { is, says, fix } = endOf(api, now)
  if (is !== 'far') yield { path: ['provider', 'api'], message: `${says}: ${fix}` }
}

function* adviseProvider({ provider }: Config): Iterable<Advice> {
  if (!opensLimits([...provider.scopes, ...provider.optionalScopes])) {
    const message =
      'none of these opens the limits endpoints: polls will answer 403; add one of crm.objects.*.read, crm.objects.*.write, ' +
      'tickets, e-commerce, media_bridge.read'
    yield { path: ['provider', 'scopes'], message }
  }
}

function* adviseRedis({ redis: { url, sentinels, cluster, tls } }: Config): Iterable<Advice> {
  const { protocol, hostname = '' } = URL.parse(url?.reveal() ?? '') ?? {}
  if (tls || protocol === 'rediss:') return
  const hosts = {
    url: [hostname],
    sentinels: sentinels?.map(({ host }) => host),
    cluster: cluster?.map(({ host }) => host),
  }
  for (const [name, named = []] of Object.entries(hosts)) {
    const elsewhere = named.find((host) => host !== '' && !isThisMachine(host))
    if (elsewhere === undefined) continue
    const message =
      `an eavesdropper on the traffic to ${elsewhere} reads the password and everything stored, and can change it: ` +
      `${name === 'url' ? 'rediss://' : 'tls: true'} encrypts it; needless only in a network that is yours alone`
    yield { path: ['redis', name], message }
  }
}

function* adviseLimits({ limits, thresholds }: Config): Iterable<Advice> {
  const isOfPairs = (metric: string) => reportOf({ metric })?.perPair !== undefined
  const watched = thresholds.some(({ on, off }) => !off && metricsOn(on).some(isOfPairs))
  const isEmpty = [limits, ...limits.accounts].every(({ associations = [] }) => associations.length === 0)
  if (isEmpty && watched) {
    const message =
      'empty: association limits are not polled; auto watches all pairs, or list them, like { from: "0-1", to: "0-2" }'
    yield { path: ['limits', 'associations'], message }
  }
}

function* adviseHistory({ limits: { history } }: Config): Iterable<Advice> {
  const { raw, hourly, daily } = history
  const path = (name: string) => ['limits', 'history', name]
  if (hourly <= raw)
    yield { path: path('hourly'), message: 'changes nothing: every change is kept at least as long (raw)' }
  if (daily <= Math.max(raw, hourly))
    yield { path: path('daily'), message: 'changes nothing: more detail is kept at least as long (raw, hourly)' }
}

function* adviseRoutes({ routes, receivers, tokens }: Config): Iterable<Advice> {
  // A route to contacts alone leaves the alerts of all other accounts to the routes below it.
  const isPartial = (name: string) => receivers[name]?.type === 'email' && receivers[name].to === 'account'
  const catchAll = routes.findIndex(({ match, to }) => Object.keys(match).length === 0 && !to.every(isPartial))
  if (catchAll === -1) {
    yield {
      path: ['routes'],
      message: 'alerts that no route matches go nowhere: a last route without `match` takes the rest',
    }
  } else {
    for (let index = catchAll + 1; index < routes.length; index++) {
      yield { path: ['routes', index], message: `can never match: routes[${catchAll}] takes everything` }
    }
  }
  const used = new Set(routes.flatMap(({ to }) => to))
  for (const name of Object.keys(receivers)) {
    const settings = receivers[name]
    const takesAccounts = settings?.type === 'webhook' && settings.events?.includes('accounts')
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
  const names = Object.keys(receivers)
  if (names.length === 1) {
    const message = `no message can reach you when ${names[0]} fails: with a second receiver, that one does`
    yield { path: ['receivers'], message }
  }
  for (const [name, settings] of Object.entries(receivers)) {
    for (const { path, message } of receiverKind(settings).advise?.(settings) ?? [])
      yield { path: ['receivers', name, ...path], message }
    const host = 'url' in settings ? deadHost(settings.url) : undefined
    if (host !== undefined) {
      const message =
        `Microsoft has shut down ${host}: no message arrives there; make a new workflow in Teams (Workflows, "Send webhook ` +
        'alerts to a channel"), the host of its address ends with .api.powerplatform.com'
      yield { path: ['receivers', name, 'url'], message }
    }
  }
}

/** Old addresses of Teams. */
function deadHost(url: Secret | string): string | undefined {
  const { hostname = '' } = URL.parse(typeof url === 'string' ? url : url.reveal()) ?? {}
  return ['webhook.office.com', 'logic.azure.com'].find((dead) => hostname === dead || hostname.endsWith(`.${dead}`))
}

function* adviseAcknowledging({ alerts: { acknowledgeFor, repeatEvery } }: Config): Iterable<Advice> {
  if (acknowledgeFor >= repeatEvery) return
  const message = `over before an alert would be repeated (repeatEvery, ${formatDuration(repeatEvery)}): make it longer`
  yield { path: ['alerts', 'acknowledgeFor'], message }
}

function* adviseHeartbeat({ heartbeat }: Config): Iterable<Advice> {
  if (heartbeat === undefined) return
  const [, ending] = /\/(fail|start|log|\d{1,3})\/*$/.exec(URL.parse(heartbeat.url.reveal())?.pathname ?? '') ?? []
  if (ending === undefined) return
  const message = `ends with /${ending}, which does not report success: leave it out, /fail is added where it is needed`
  yield { path: ['heartbeat', 'url'], message }
}

function* adviseHttp({ http, dataDir }: Config): Iterable<Advice> {
  const { protocol, hostname = '', port } = URL.parse(http.publicUrl) ?? {}
  const publicPort = Number(port) || (protocol === 'https:' ? 443 : 80)
  if (isThisMachine(hostname) && publicPort !== http.listen.port) {
    const message = `this machine at port ${publicPort}, but http.listen has port ${http.listen.port}: links and the redirect work only if a proxy is there`
    yield { path: ['http', 'publicUrl'], message }
  }
  if (URL.parse(http.publicUrl)?.pathname !== '/') {
    const message =
      'has a path: installing and the links in mails that acknowledge work behind it; the pages lead to each other from the ' +
      'root of the host, so give them a host name of their own'
    yield { path: ['http', 'publicUrl'], message }
  }
  if (http.adminToken === undefined) {
    yield {
      path: ['http'],
      message: `no adminToken: pages and API use the token in ${join(dataDir, 'admin-token')}, which the first start creates`,
    }
  }
}
