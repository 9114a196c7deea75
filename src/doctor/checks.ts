import type { DoctorCheck, Installation } from './check.ts'
import {
  checkAdminTokens,
  checkAnswers,
  checkConfig,
  checkDisk,
  checkEncryption,
  checkFileLimit,
  checkSecretFiles,
} from './config-and-keys.ts'
import { checkInForce } from './daemon.ts'
import { type FLEET_LINES, type Fleet, fleetLine, verdictFindings } from './fleet.ts'
import { checkEndDate, checkProvider, checkPublicUrl } from './provider.ts'
import { checkReceiver } from './receivers.ts'
import { checkRedis } from './redis.ts'

/** All checks, in the order of the report. `read`: the fleet, once for all of them. */
export function checksOf(installation: Installation, read: Promise<Fleet>): DoctorCheck[] {
  const { config, redis, keys, clock, proxyFor } = installation
  const file = 'correct the config file; plimsoll config check lists its problems'
  // The first answer may be all that is late; a server that answers nothing is named then.
  const waits = redis.waitMs === undefined ? {} : { longestMs: redis.waitMs + 1_000 }
  const ofRedis = (name: string, run: DoctorCheck['run']) => ({ name, ...waits, run, fix: 'check that Redis answers' })
  const fleet = (name: keyof typeof FLEET_LINES) => ofRedis(name, async () => fleetLine(name, await read))
  return [
    { name: 'config', run: async () => checkConfig(installation.notices), fix: file },
    {
      name: 'redis',
      ...waits,
      run: () => checkRedis(redis, keys, clock),
      fix: 'check redis and dataDir in the config, and that the server runs',
    },
    {
      name: 'encryption',
      ...waits,
      run: () => checkEncryption(installation),
      fix: 'check encryption.keys, and that Redis answers',
    },
    ofRedis('admin-tokens', async () => [await checkAdminTokens(installation)]),
    {
      name: 'sealed-tokens',
      run: async () => [checkAnswers(installation)],
      fix: 'check that dataDir/answers can be read',
    },
    { name: 'disk', run: () => checkDisk(installation), fix: 'check that dataDir can be read' },
    { name: 'secret-files', run: async () => checkSecretFiles(installation), fix: 'check that the files can be read' },
    { name: 'open-files', run: async () => [checkFileLimit()], fix: 'see ulimit -n' },
    {
      name: 'provider',
      run: () => checkProvider(config.provider.baseUrl, clock, proxyFor),
      fix: 'check provider.baseUrl, and that this machine may connect to it',
    },
    fleet('calls'),
    { name: 'end-date', run: async () => [checkEndDate(config.provider.api, clock.now())], fix: file },
    ...Object.entries(config.receivers).map(([name, receiver]) => ({
      name: `receiver.${name}`,
      run: async (signal: AbortSignal) => [
        await checkReceiver(name, receiver, `${config.http.publicUrl}/`, signal, proxyFor),
      ],
      fix: `check receivers.${name}, and that this machine may connect to its server`,
    })),
    fleet('deliveries'),
    {
      name: 'public-url',
      run: async () => [await checkPublicUrl(config.http.publicUrl)],
      fix: 'check http.publicUrl',
    },
    fleet('daemon'),
    ofRedis('config.in-force', async () => [await checkInForce(installation)]),
    ofRedis('verdict', async () => verdictFindings(await read)),
  ]
}
