import type { Config } from '../../config/schema.ts'
import { type AdminToken, mainToken, OF_CONFIG, OF_FILE } from '../http/access/admin-token.ts'
import { openTokenFile } from '../http/access/token-file.ts'
import type { Logger } from '../runtime/logger.ts'

/** The config's, or else, for a daemon that serves pages, one of its own: then the log has its path, never the token. */
export function adminToken({ http, dataDir }: Config, servesPages: boolean, log: Logger): AdminToken | undefined {
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
