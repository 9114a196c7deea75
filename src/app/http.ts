import { logoOf, readLogoFile } from '../../config/schema/logo.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { HealthReport } from '../checks/health-report.ts'
import { addressIn } from '../delivery/receivers/email/smtp.ts'
import { type AdminToken, mainToken, OF_CONFIG, OF_FILE, openTokenFile } from '../http/access/admin-tokens.ts'
import type { OwnTokens } from '../http/access/known-tokens.ts'
import type { TrustedHeaders } from '../http/access/trusted-person.ts'
import type { Brand } from '../http/brand.ts'
import type { AfterInstall } from '../http/pages/install/after-install.ts'
import type { HttpDeps } from '../http/server.ts'
import { defined } from '../runtime/defined.ts'
import type { Logger } from '../runtime/logger.ts'
import { connected } from './account-actions.ts'
import type { Acting } from './account-jobs.ts'
import { operationDeps } from './operation-deps.ts'
import { ackLinks, mailLinks } from './receivers.ts'
import type { Services } from './services.ts'

/** Parts of requests beside the services in force. */
export interface Web extends Acting {
  adminTokens: OwnTokens
  brand: Brand
  servesPages: boolean
  health: () => Promise<HealthReport>
  /** True until the data and the keys are checked. */
  isStarting: () => boolean
}

/** Parts of pages, API and probes, by the config of these services. */
export function httpDeps(web: Web, services: Services): HttpDeps {
  const { config, vault } = services
  const { servesPages, adminTokens, brand, health, isStarting } = web
  return {
    ...operationDeps(web, services),
    listen: { ...config.http.listen },
    probesOnly: !servesPages,
    brand,
    adminTokens,
    openMetrics: config.http.metrics === 'open',
    trusted: trustedHeaders(config),
    install: config.provider,
    afterInstall: afterInstallOf(config),
    // An install that is being stored waits for Redis.
    connect: services,
    ackLinks: ackLinks(vault, config),
    links: mailLinks(config, vault, services.clock),
    connected: () => connected(services),
    health,
    isStarting,
    isDaemon: true,
    uninstallKeepMs: services.uninstallKeepMs,
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
  const { logo: file, ...shown } = config.http.brand
  const logo = file === undefined ? undefined : logoOf(readLogoFile(file))
  if (typeof logo === 'string') throw new Error(`http.brand.logo: ${logo}`)
  // The sender of mails to customers takes their questions.
  const mails = Object.values(config.receivers).find((one) => one.type === 'email' && one.to === 'account')
  return { ...shown, ...defined({ logo, support: mails?.type === 'email' ? addressIn(mails.from) : undefined }) }
}
