import type { Config } from '../../config/schema.ts'
import { ownKey } from '../tokens/own-key.ts'
import type { VaultKey } from '../tokens/vault.ts'

/** Nothing if the config leaves it to the installation. */
export function configuredKeys({ encryption }: Config): VaultKey[] | undefined {
  return encryption?.keys.map(({ id, key }) => ({ id, key: Buffer.from(key.reveal().trim(), 'base64') }))
}

/** The configured keys, or the installation's own; `made` names the file if that was made just now. */
export function encryptionKeys(config: Config): { keys: VaultKey[]; made?: string } {
  const configured = configuredKeys(config)
  if (configured !== undefined) return { keys: configured }
  const { key, file, made } = ownKey(config.dataDir)
  return made ? { keys: [key], made: file } : { keys: [key] }
}
