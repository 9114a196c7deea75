import type { Config } from './schema.ts'

/**
 * What a running daemon works by after its file was read again: all of `next`, but for what connections, files and the
 * server's address were opened with. That stays until a restart.
 */
export function takeOver(inForce: Config, next: Config): Config {
  const { encryption: _, ...rest } = next
  const encryption = next.encryption ?? inForce.encryption
  const { api, baseUrl, redirectUri, timeout, connections, insecure } = inForce.provider
  const { pretty, file } = inForce.log
  return {
    ...rest,
    ...(encryption === undefined ? {} : { encryption }),
    provider: { ...next.provider, api, baseUrl, redirectUri, timeout, connections, insecure },
    redis: inForce.redis,
    dataDir: inForce.dataDir,
    tokens: inForce.tokens,
    http: inForce.http,
    log: { level: next.log.level, pretty, ...(file === undefined ? {} : { file }) },
  }
}
