import { createHash } from 'node:crypto'
import { isSameText, type Secret } from '../runtime/secret.ts'
import { openFiles, sealedLine, writeLines } from './sealed-tokens.ts'
import { type Vault, VaultError } from './vault.ts'

/** A refresh token that was given, in names: it is not told from this. */
export function digestOf(token: Secret): string {
  return createHash('sha256').update(token.reveal()).digest('hex')
}

/**
 * Seals the refresh token that came in place of the one that was given, if it is another: until an account is stored with it, it is nowhere
 * else. Throws where that can't be.
 */
export function keepLatest(vault: Vault, dataDir: string, given: Secret, latest: Secret): void {
  if (isSameText(latest.reveal(), given.reveal())) return
  writeLines(dataDir, fileOf(given), [sealedLine(vault, digestOf(given), latest)])
}

/** The newest refresh token that came in place of the one that was given, or else that one. Throws VaultError. */
export function latestOf(vault: Vault, dataDir: string, given: Secret): Secret {
  const line = openFiles(vault, dataDir, fileOf(given))[0]?.lines[0]
  if (line?.stuck !== undefined) throw new VaultError(line.stuck.reason, line.stuck.needs)
  return line?.text ?? given
}

export function forgetLatest(dataDir: string, given: Secret): void {
  writeLines(dataDir, fileOf(given), [])
}

function fileOf(given: Secret): string {
  return `${digestOf(given)}.latest`
}
