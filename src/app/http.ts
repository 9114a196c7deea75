import { logoOf, readLogoFile } from '../../config/schema/logo.ts'
import type { Config } from '../../config/schema/schema.ts'
import { readQueueDepths } from '../../jobs/queue-depths.ts'
import type { HealthReport } from '../checks/health-report.ts'
import { type AdminToken, mainToken, OF_CONFIG, OF_FILE, openTokenFile } from '../http/access/admin-tokens.ts'
import type { TrustedHeaders } from '../http/access/trusted-person.ts'
import type { Brand } from '../http/brand.ts'
import type { AfterInstall } from '../http/pages/install/after-install.ts'
import type { HttpDeps } from '../http/server.ts'
import type { Store } from '../redis/connect.ts'
import type { Logger } from '../runtime/logger.ts'
import type { AccessTokens } from '../tokens/access-token.ts'
import { connected, makeReconnectLink, serveAccessToken } from './account-actions.ts'
import type { AccountJobs } from './account-jobs.ts'
import { operationActions } from './operation-actions.ts'
import { operationDeps } from './operation-deps.ts'
import { ackLinks, appName, mailLinks } from './receivers.ts'
import type { Services } from './services.ts'
import { buildStores } from './stores.ts'
import { noteTest, testReceiver } from './test-receiver.ts'

/** How long a request for a test waits for a slow receiver. */
const TEST_WAIT_MS = 10_000

/** Parts of requests beside the services in force. */
export interface Web {
  /** A connection that gives up after two seconds. */
  pages: Store
  accessTokens: AccessTokens
  jobs: AccountJobs
  adminToken: AdminToken | undefined
  brand: Brand
  servesPages: boolean
  stop: AbortSignal
  health: () => Promise<HealthReport>
}

/** Parts of pages, API and probes, by the config of these services. */
export function httpDeps(web: Web, services: Services): HttpDeps {
  const { config, vault, queues } = services
  const { pages, servesPages, adminToken, brand, health } = web
  const asked = { ...services, ...buildStores({ ...services, store: pages }, config) }
  return {
    ...asked,
    ...operationDeps(asked),
    listen: { ...config.http.listen },
    probesOnly: !servesPages,
    publicUrl: config.http.publicUrl,
    brand,
    adminToken,
    openMetrics: config.http.metrics === 'open',
    trusted: trustedHeaders(config),
    install: config.provider,
    afterInstall: afterInstallOf(config),
    // An install that is being stored waits for Redis.
    connect: services,
    ackLinks: ackLinks(vault, config),
    links: mailLinks(config, vault, services.clock),
    queueDepths: () => readQueueDepths(queues, pages),
    actions: actionsOf(web, services, asked),
    health,
    daemon: services.clockWatch,
  }
}

function trustedHeaders({ http }: Config): TrustedHeaders | undefined {
  const { trustedUserHeader: userHeader, trustedProxies: proxies = [] } = http
  if (userHeader === undefined) return undefined
  return {
    userHeader,
    proxies,
    groupsHeader: http.trustedGroupsHeader,
    groupsSeparator: http.trustedGroupsSeparator ?? ',',
    groups: http.trustedGroups ?? {},
  }
}

/** `asked`: the same services, on the connection that gives up. */
function actionsOf({ jobs, accessTokens, stop }: Web, services: Services, asked: Services): HttpDeps['actions'] {
  return {
    ...operationActions(jobs, services, asked),
    reconnectLink: (hubId, who) => makeReconnectLink(asked, hubId, who),
    accessToken: (hubId, who) => serveAccessToken(accessTokens, asked, hubId, who),
    connected: () => connected(services),
    testReceiver: async (name, who) => {
      const { config, clock, proxyFor } = services
      const settings = Object.hasOwn(config.receivers, name) ? config.receivers[name] : undefined
      // The request waits no longer for a slow one.
      const ended = AbortSignal.any([stop, AbortSignal.timeout(TEST_WAIT_MS)])
      if (settings === undefined) return undefined
      const test = { config, name, settings, proxyFor }
      const tested = await testReceiver(test, clock, ended, (note) => note(asked.receiverStore))
      await noteTest(asked.audit, name, tested, who)
      return tested
    },
  }
}

/** The config's, or else, for a daemon that serves pages, one of its own: then the log has its path, never the token. */
export function adminTokenOf({ http, dataDir }: Config, servesPages: boolean, log: Logger): AdminToken | undefined {
  if (http.adminToken !== undefined) return mainToken(OF_CONFIG, http.adminToken)
  if (!servesPages) return undefined
  const { token, path, made, wasOpen } = openTokenFile(dataDir)
  if (wasOpen) {
    const fix = 'remove it and start again for a new one'
    log.warn({ code: 'http.token-open', file: path }, `others could read ${path}, from now on they can't: ${fix}`)
  }
  const url = `${http.publicUrl}/sign-in`
  log.info({ code: 'http.admin-token', url, file: path, made }, `sign in at ${url} with the token in ${path}`)
  return mainToken(OF_FILE, token)
}

/** Another client secret, taken over by SIGHUP, signs from then on; the first of several. */
function afterInstallOf({ http, provider }: Config): AfterInstall | undefined {
  const { afterInstall: url, afterInstallSecret: secret = provider.clientSecret[0] } = http
  return url === undefined || secret === undefined ? undefined : { url, secret }
}

/** The brand; its logo is read once, so that a new file needs a restart, as with the rest of `http`. */
export function brandOf(config: Config): Brand {
  const { logo: file, color } = config.http.brand
  const logo = file === undefined ? undefined : logoOf(readLogoFile(file))
  if (typeof logo === 'string') throw new Error(`http.brand.logo: ${logo}`)
  return { name: appName(config), ...(logo && { logo }), ...(color && { color }) }
}
