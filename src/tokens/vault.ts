import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { freshBytes } from '../runtime/fresh-bytes.ts'
import { Secret } from '../runtime/secret.ts'

/**
 * Encryption of tokens at rest: AES-256-GCM. The id of the key precedes the ciphertext, so that the first
 * configured key writes and all read. The account and the field are authenticated with it: a value that was copied to
 * another account, or to another field, doesn't open.
 *
 * Layout: version (1 byte, 1) | length of the key id (1) | key id | nonce (12) | tag (16) | ciphertext
 */
export interface Vault {
  /** Ids of the keys in force; the first one writes. */
  readonly keyIds: readonly [string, ...string[]]
  /** Under the first key. */
  seal(value: Secret, hubId: number, field: TokenField): Buffer
  /** Throws VaultError when no key opens it. */
  open(sealed: Buffer, hubId: number, field: TokenField): Secret
  /** A key for another purpose than tokens, from the key that writes: 32 bytes, the same wherever that key is. */
  derive(purpose: string): Buffer
  /** The same from every key: a key that is no longer the first one may have signed. The one that writes comes first. */
  deriveEach(purpose: string): [Buffer, ...Buffer[]]
  /** Other keys from now on, for all users of this vault. */
  replace(keys: readonly VaultKey[]): void
}

export type TokenField = 'access' | 'refresh' | 'canary' | 'answer'

export interface VaultKey {
  id: string
  /** 32 bytes */
  key: Buffer
}

export class VaultError extends Error {
  /** The id of the key that would open it, where that is not configured. */
  readonly missingKey: string | undefined

  constructor(message: string, missingKey?: string) {
    super(message)
    this.missingKey = missingKey
  }
}

/** A token that no configured key opens: a failure of its account like the provider's, until the key is configured. */
export interface Unopened {
  class: 'unopened'
  code: 'vault'
  /** Names the key by its id. */
  message: string
  /** The id of that key, where it is not configured. */
  missingKey?: string | undefined
}

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

export function createVault(keys: readonly VaultKey[]): Vault {
  let ring = createRing(keys)
  return {
    get keyIds() {
      return ring.ids
    },
    seal: (value, hubId, field) => {
      const { key, head } = keyOf(ring, ring.ids[0])
      const nonce = freshBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(additionalData(hubId, field))
      // Bytes: a string takes a third longer.
      const text = cipher.update(Buffer.from(value.reveal(), 'utf8'))
      cipher.final() // Adds nothing in this mode, and makes the tag.
      return Buffer.concat([head, nonce, cipher.getAuthTag(), text])
    },
    open: (sealed, hubId, field) => {
      const { keyId, nonce, tag, text } = takeApart(sealed)
      const decipher = createDecipheriv('aes-256-gcm', keyOf(ring, keyId).key, nonce)
      decipher.setAAD(additionalData(hubId, field))
      decipher.setAuthTag(tag)
      try {
        const clear = decipher.update(text)
        decipher.final() // Adds nothing in this mode, and throws where the tag is wrong.
        return new Secret(clear.toString('utf8'))
      } catch {
        throw new VaultError(
          `the key ${keyId} doesn't open what is stored: it is another key with the same id, check encryption.keys`,
        )
      }
    },
    derive: (purpose) => derived(ring, ring.ids[0], purpose),
    deriveEach: (purpose) => {
      const [first, ...others] = ring.ids
      return [derived(ring, first, purpose), ...others.map((id) => derived(ring, id, purpose))]
    },
    replace: (others) => {
      ring = createRing(others)
    },
  }
}

export function openToken(
  vault: Vault,
  sealed: Buffer,
  hubId: number,
  field: TokenField,
): { ok: true; value: Secret } | { ok: false; failure: Unopened } {
  try {
    return { ok: true, value: vault.open(sealed, hubId, field) }
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    const { message, missingKey } = error
    return { ok: false, failure: { class: 'unopened', code: 'vault', message, missingKey } }
  }
}

/** Which key a value was encrypted with. Throws VaultError where it is no encrypted value. */
export function keyIdOf(sealed: Buffer): string {
  return takeApart(sealed).keyId
}

interface Ring {
  ids: readonly [string, ...string[]]
  /** By id: the key, and the prefix of all that it encrypts. */
  keys: ReadonlyMap<string, { key: KeyObject; head: Buffer }>
}

function createRing(keys: readonly VaultKey[]): Ring {
  const [first, ...others] = keys.map(({ id }) => id)
  if (first === undefined) throw new VaultError('there is no encryption key')
  const made = keys.map(({ id, key }) => {
    const name = Buffer.from(id, 'utf8')
    const head = Buffer.concat([Buffer.from([VERSION, name.length]), name])
    // A KeyObject made once: with the bare bytes each decryption costs four times as much.
    return [id, { key: createSecretKey(key), head }] as const
  })
  return { ids: [first, ...others], keys: new Map(made) }
}

function keyOf(ring: Ring, keyId: string) {
  const key = ring.keys.get(keyId)
  if (key === undefined)
    throw new VaultError(`no key with the id ${keyId} is configured: add it to encryption.keys`, keyId)
  return key
}

function derived(ring: Ring, keyId: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', keyOf(ring, keyId).key, '', `plimsoll ${purpose}`, 32))
}

function additionalData(hubId: number, field: TokenField): Buffer {
  return Buffer.from(`${hubId}:${field}`, 'utf8')
}

function takeApart(sealed: Buffer): { keyId: string; nonce: Buffer; tag: Buffer; text: Buffer } {
  const idLength = sealed[1] ?? 0
  const nonceAt = 2 + idLength
  const textAt = nonceAt + NONCE_BYTES + TAG_BYTES
  if (sealed[0] !== VERSION || sealed.length < textAt) throw new VaultError('what is stored is no encrypted value')
  return {
    keyId: sealed.toString('utf8', 2, nonceAt),
    nonce: sealed.subarray(nonceAt, nonceAt + NONCE_BYTES),
    tag: sealed.subarray(nonceAt + NONCE_BYTES, textAt),
    text: sealed.subarray(textAt),
  }
}
