import { fingerprint } from '../../config/fingerprint.ts'
import { liveWriters } from '../tokens/writers.ts'
import type { Parts } from './parts.ts'

/** Says which config this daemon works by: `doctor` compares it with the file. Shown only: no work fails over it. */
export class ConfigReports {
  readonly #daemon: string

  constructor(daemon: string) {
    this.#daemon = daemon
  }

  async report(parts: Parts): Promise<void> {
    const { store, keys, vault, config } = parts
    try {
      await forgetDead(parts)
      await store.hset(keys.configs, this.#daemon, fingerprint(config, vault.derive('config')))
    } catch (error) {
      parts.log.warn({ code: 'redis.error', err: error }, 'could not say which config is in force here')
    }
  }

  async stop({ store, keys }: Parts): Promise<void> {
    await store.hdel(keys.configs, this.#daemon).catch(() => undefined)
  }
}

/** One that was killed took no leave. */
async function forgetDead({ store, keys }: Parts): Promise<void> {
  const [known, alive] = await Promise.all([store.hkeys(keys.configs), liveWriters({ store, keys })])
  const dead = known.filter((name) => !alive.some(({ daemon }) => daemon === name))
  if (dead.length > 0) await store.hdel(keys.configs, ...dead)
}
