import { configFingerprint } from '../../config/schema/reload.ts'
import { DaemonStore, isSilent } from '../heartbeat/daemons.ts'
import { createVault } from '../tokens/vault.ts'
import { type Finding, type Installation, ok, warn } from './check.ts'
import { keysOf } from './config-and-keys.ts'

const IN_FORCE = 'config.in-force'

/** The daemons at work have this file in force, not an earlier one. */
export async function checkInForce({ config, redis, keys, vaultKeys }: Installation): Promise<Finding> {
  const alive = await redis.store
    .then(async (store) => {
      // Daemons report by the clock of Redis.
      const [now, daemons] = await Promise.all([store.readTime(keys.fleet), new DaemonStore(store, keys).read()])
      return daemons.filter((daemon) => !isSilent(daemon, now))
    })
    .catch(() => undefined)
  if (alive === undefined) return warn(IN_FORCE, 'not known: Redis does not answer')
  const ring = keysOf({ vaultKeys, config })
  if (alive.length === 0 || ring === undefined) return ok(IN_FORCE, 'no daemon runs')
  const ours = configFingerprint(config, createVault(ring).derive('config'))
  const others = alive.filter(({ config: inForce }) => inForce !== ours).map(({ name }) => name)
  if (others.length === 0) return ok(IN_FORCE, 'all daemons use this config')
  const fix = 'send SIGHUP (systemctl reload plimsoll); the log names what needs a restart (config.reloaded)'
  return warn(IN_FORCE, `another config than this file is in force: ${others.join(', ')}`, fix)
}
