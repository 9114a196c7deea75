import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Secret } from '../runtime/secret.ts'
import { ownKeyFile } from '../tokens/vault-keys.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import type { Installation } from './installation.ts'

const NAME = 'secret-files'

/**
 * Who else on this machine may read or change the files that keys and other secrets are in; the config is one of them where
 * secrets are written into it. A user who may change it can send tokens anywhere.
 */
export function checkSecretFiles(
  installation: Pick<Installation, 'configFile' | 'secretFiles' | 'vaultKeys' | 'config'>,
): Finding[] {
  const { dataDir } = installation.config
  const own = [...(installation.vaultKeys === undefined ? [ownKeyFile(dataDir)] : []), join(dataDir, 'admin-token')]
  const files = [...new Set([...installation.secretFiles, ...own])].filter((file) => existsSync(file))
  const findings = [
    ...(installation.configFile === undefined ? [] : judgeConfigFile(installation.configFile)),
    ...files.flatMap((file) => judgeMode(file, statSync(file).mode) ?? []),
  ]
  if (findings.length > 0) return findings
  return [ok(NAME, files.length === 0 ? 'none' : `${files.length} readable by this user only`)]
}

/** Reading is only a warning: platforms that hand secrets out as files often let their own group read them. */
function judgeMode(file: string, mode: number): Finding | undefined {
  const fix = `chmod 600 ${file}`
  if ((mode & 0o022) !== 0) return fail(NAME, `others may change ${file}`, fix)
  return (mode & 0o044) === 0 ? undefined : warn(NAME, `others may read ${file}`, fix)
}

function judgeConfigFile({ path, hasSecrets }: NonNullable<Installation['configFile']>): Finding[] {
  const found = judgeMode(path, statSync(path).mode)
  return found === undefined || (found.level === 'warn' && !hasSecrets) ? [] : [found]
}

/** Whether secrets are in the text itself, rather than in files or in the environment. */
export function holdsSecrets(text: string, value: unknown): boolean {
  if (value instanceof Secret) return isWorthHiding(value.reveal()) && text.includes(value.reveal())
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((part) => holdsSecrets(text, part))
}

/** An address without a password gives nothing away. */
function isWorthHiding(secret: string): boolean {
  return !URL.canParse(secret) || new URL(secret).password !== ''
}
