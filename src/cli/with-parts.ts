import { openParts, type Parts } from '../app.ts'
import { Lifecycle } from '../runtime/lifecycle.ts'
import { createLogger } from '../runtime/logger.ts'
import { checkCanary } from '../tokens/canary.ts'
import { VaultError } from '../tokens/vault.ts'
import { readConfig } from './config-file.ts'
import { CommandError, type Io } from './io.ts'

/** Runs a command on the same store as the daemon, whether that is running or not. */
export async function withParts<T>(io: Io, file: string, work: (parts: Parts) => Promise<T>): Promise<T> {
  const { config } = readConfig(io, file)
  const lifecycle = new Lifecycle()
  const log = createLogger({ level: 'silent', pretty: false })
  try {
    const parts = await openParts({ config, clock: io.clock, random: io.random, log }, lifecycle, 'pages')
    await checkCanary(parts.store, parts.keys, parts.vault)
    return await work(parts)
  } catch (error) {
    throw explain(error)
  } finally {
    await lifecycle.close()
  }
}

const NO_REDIS = ['MaxRetriesPerRequestError', 'ClusterAllFailedError']

function explain(error: unknown): unknown {
  if (error instanceof VaultError) return new CommandError(`${error.message}: check encryption.keys`)
  if (error instanceof Error && (NO_REDIS.includes(error.name) || /timed out|ECONNREFUSED/.test(error.message))) {
    return new CommandError('Redis does not answer: check redis.url in the config, and that the server runs')
  }
  return error
}
