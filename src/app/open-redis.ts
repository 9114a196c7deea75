import type { RedisAddress } from '../redis/connect.ts'
import { openEmbeddedRedis } from '../redis/embedded.ts'
import { defined } from '../runtime/defined.ts'
import type { Lifecycle } from '../runtime/lifecycle.ts'
import { keyOfLostData } from './data-folder.ts'
import type { AppInput } from './input.ts'

/** Address of Redis; starts the private one where the config names none. */
export async function openRedis(
  { config, clock, log, waitMs }: Pick<AppInput, 'config' | 'clock' | 'log' | 'waitMs'>,
  lifecycle: Lifecycle,
): Promise<RedisAddress> {
  const { url, sentinels, name, cluster, username, password, sentinelUsername, sentinelPassword, tls } = config.redis
  if (url !== undefined) return { kind: 'url', url, tls }
  const access = { tls, ...defined({ username, password }) }
  if (sentinels !== undefined) {
    const ofSentinels = defined({ sentinelUsername, sentinelPassword })
    return { kind: 'sentinels', sentinels: [...sentinels], name: name ?? '', ...access, ...ofSentinels }
  }
  if (cluster !== undefined) return { kind: 'cluster', nodes: [...cluster], ...access }
  const key = keyOfLostData(config)
  const opening = (close: () => Promise<void>) => lifecycle.onClose('the embedded Redis', close)
  const embedded = await openEmbeddedRedis(config.dataDir, clock, log, waitMs, opening)
  if (key !== undefined) {
    log.error(
      { code: 'data.gone', key },
      `began with no data: ${config.dataDir} has none, and it had some, because ${key} is there. Where accounts were connected, stop and restore a backup`,
    )
  }
  return { kind: 'embedded', socket: embedded.socket }
}
