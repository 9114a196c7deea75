import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openDataFolder, writeOnce } from '../../runtime/data-folder.ts'
import { Secret } from '../../runtime/secret.ts'
import { makeToken, OF_FILE } from './admin-token.ts'

/** As of `http.adminToken`. */
const LEAST_LENGTH = 16

export interface TokenFile {
  token: Secret
  path: string
  /** Made just now. */
  made: boolean
  /** Others on this machine could read it until just now. */
  wasOpen: boolean
}

export function tokenFileIn(dataDir: string): string {
  return join(resolve(dataDir), OF_FILE)
}

/**
 * The admin token of an installation whose config names none: made at the first start, in the data folder, for this user's
 * eyes only. Throws where what is there is no token.
 */
export function openTokenFile(dataDir: string): TokenFile {
  const path = tokenFileIn(dataDir)
  openDataFolder(dataDir)
  const made = writeOnce(path, () => `${makeToken().reveal()}\n`)
  const wasOpen = (statSync(path).mode & 0o077) !== 0
  if (wasOpen) chmodSync(path, 0o600)
  const text = readFileSync(path, 'utf8').trim()
  if (text.length < LEAST_LENGTH || !/^[!-~]+$/.test(text)) {
    throw new Error(
      `${path} must hold one token of at least ${LEAST_LENGTH} characters: remove it, and the next start makes a new one`,
    )
  }
  return { token: new Secret(text), path, made, wasOpen }
}
