import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openDataFolder, writeOnce } from '../runtime/data-folder.ts'
import type { VaultKey } from './vault.ts'

/**
 * The key of an installation whose config names none: made at the first start, in the data folder, for this user's eyes
 * only. With `made` the caller logs that it must be backed up.
 */
export function ownKey(dataDir: string): { key: VaultKey; file: string; made: boolean } {
  const file = ownKeyFile(dataDir)
  openDataFolder(dataDir, 'keys')
  const made = writeOnce(file, () => `${randomBytes(32).toString('base64')}\n`)
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64')
  if (key.length !== 32) throw new Error(`${file} must hold 32 bytes in base64 on one line: restore it from a backup`)
  return { key: { id: 'k1', key }, file, made }
}

export function ownKeyFile(dataDir: string): string {
  return join(resolve(dataDir), 'keys', 'k1')
}
