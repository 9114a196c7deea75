import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { VaultKey } from './vault.ts'

/**
 * The key of an installation whose config names none: made at the first start, in the data folder, for this user's eyes
 * only. `made` tells the caller to say that it must be backed up.
 */
export function ownKey(dataDir: string): { key: VaultKey; file: string; made: boolean } {
  const file = ownKeyFile(dataDir)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const made = !existsSync(file) && writeOnce(file, `${randomBytes(32).toString('base64')}\n`)
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64')
  if (key.length !== 32) throw new Error(`${file} must hold 32 bytes in base64 on one line: restore it from a backup`)
  return { key: { id: 'k1', key }, file, made }
}

export function ownKeyFile(dataDir: string): string {
  return join(resolve(dataDir), 'keys', 'k1')
}

/** Linked into place whole: another process must never find half a key. */
function writeOnce(file: string, text: string): boolean {
  const own = `${file}.${process.pid}`
  writeFileSync(own, text, { mode: 0o600 })
  try {
    linkSync(own, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(own, { force: true })
  }
}
