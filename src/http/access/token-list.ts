import { createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { replaceSecretFile } from '../../runtime/data-folder.ts'
import { isSameText } from '../../runtime/secret.ts'

/** Which named tokens there are, sealed as each record is: the record of one that was removed opens nothing where it is written back. */
export interface TokenList {
  /** One higher with each change: an older list that is written back has a lower one. */
  count: number
  /** Hashes of the tokens, in base64url. */
  hashes: readonly string[]
}

/** The field of it beside the records; no token can have that name. */
export const LIST_FIELD = '=list'

function sealOfList({ count, hashes }: TokenList, key: Buffer): string {
  return createHmac('sha256', key)
    .update(JSON.stringify(['list', count, hashes]))
    .digest('base64url')
}

export function encodeList({ count, hashes }: TokenList, key: Buffer): string {
  return JSON.stringify({ count, hashes, seal: sealOfList({ count, hashes }, key) })
}

/** Undefined for a list that none of the keys has sealed. */
export function decodeList(stored: string, sealKeys: readonly Buffer[]): TokenList | undefined {
  try {
    const { count, hashes, seal } = JSON.parse(stored) as Record<string, unknown>
    if (!Number.isSafeInteger(count) || !Array.isArray(hashes) || typeof seal !== 'string') return undefined
    const list = { count: Number(count), hashes: hashes.map(String) }
    return sealKeys.some((key) => isSameText(seal, sealOfList(list, key))) ? list : undefined
  } catch {
    return undefined
  }
}

const SEEN_FILE = 'admin-token-count'

/**
 * The highest count that was seen. It is kept in the data folder, where there is one: an intruder in Redis can't write there.
 */
export class SeenCount {
  readonly #file: string | undefined
  #seen = 0

  constructor(dataDir?: string) {
    const folder = dataDir === undefined ? undefined : resolve(dataDir)
    this.#file = folder !== undefined && existsSync(folder) ? join(folder, SEEN_FILE) : undefined
  }

  /** Also as another process of this folder has seen it. */
  get value(): number {
    if (this.#file !== undefined && existsSync(this.#file)) this.#seen = Math.max(this.#seen, readCount(this.#file))
    return this.#seen
  }

  raise(count: number): void {
    if (count <= this.value) return
    this.#seen = count
    if (this.#file === undefined) return
    try {
      replaceSecretFile(this.#file, `${count}\n`)
    } catch {
      // A folder that takes no files is reported elsewhere; this process knows the count all the same.
    }
  }
}

function readCount(file: string): number {
  const text = readFileSync(file, 'utf8').trim()
  return /^\d{1,15}$/.test(text) ? Number(text) : 0
}
