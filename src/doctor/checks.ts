import { unprovenAfter } from '../../config/alerts.ts'
import { checkAdminTokens } from './admin-tokens.ts'
import { checkConfig } from './config.ts'
import { checkDaemon } from './daemon.ts'
import { checkEncryption } from './encryption.ts'
import { checkEndDate } from './end-date.ts'
import { checkFileLimit } from './file-limit.ts'
import type { Check } from './finding.ts'
import { checkInForce } from './in-force.ts'
import type { Installation } from './installation.ts'
import { checkMailServer } from './mail-server.ts'
import { checkProvider } from './provider.ts'
import { checkPublicUrl } from './public-url.ts'
import { checkReceivers } from './receivers.ts'
import { checkRedis } from './redis.ts'
import { checkSecretFiles } from './secret-files.ts'
import { checkWebhook } from './webhook.ts'

/** All checks, in the order of the report. */
export function checksOf(installation: Installation): Check[] {
  const { config, redis, keys, clock } = installation
  const file = 'correct the config file; plimsoll config check lists its problems'
  return [
    { name: 'config', run: async () => checkConfig(installation.notices), fix: file },
    {
      name: 'redis',
      run: () => checkRedis(redis, keys, clock),
      fix: 'check redis and dataDir in the config, and that the server runs',
    },
    {
      name: 'encryption',
      run: () => checkEncryption(installation),
      fix: 'check encryption.keys, and that Redis answers',
    },
    { name: 'admin-tokens', run: async () => [await checkAdminTokens(installation)], fix: 'check that Redis answers' },
    { name: 'secret-files', run: async () => checkSecretFiles(installation), fix: 'check that the files can be read' },
    { name: 'open-files', run: async () => [checkFileLimit()], fix: 'see ulimit -n' },
    {
      name: 'provider',
      run: () => checkProvider(config.provider.baseUrl, clock),
      fix: 'check provider.baseUrl, and that this machine may connect to it',
    },
    { name: 'end-date', run: async () => [checkEndDate(config.provider.api, clock.now())], fix: file },
    ...Object.entries(config.receivers).map(([name, receiver]): Check => {
      const fix = `check receivers.${name}, and that this machine may connect to its server`
      return receiver.type === 'email'
        ? { name: `receiver.${name}`, run: async () => [await checkMailServer(name, receiver)], fix }
        : { name: `receiver.${name}`, run: async (signal) => [await checkWebhook(name, receiver, signal)], fix }
    }),
    {
      name: 'deliveries',
      run: () => checkReceivers(redis, keys, unprovenAfter(config.alerts), clock),
      fix: 'check that Redis answers',
    },
    {
      name: 'public-url',
      run: async () => [await checkPublicUrl(config.http.publicUrl)],
      fix: 'check http.publicUrl',
    },
    {
      name: 'daemon',
      run: async () => [await checkDaemon(redis, keys, config.schedule, clock)],
      fix: 'check that Redis answers',
    },
    { name: 'config.in-force', run: async () => [await checkInForce(installation)], fix: 'check that Redis answers' },
  ]
}
