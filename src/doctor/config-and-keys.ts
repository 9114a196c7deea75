import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Notice } from '../../config/schema/problems.ts'
import { judgeDisk, sampleDisk } from '../heartbeat/disk-space.ts'
import { AdminTokenStore } from '../http/access/admin-tokens.ts'
import { Secret } from '../runtime/secret.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { describeStuck, unopenedLines } from '../tokens/sealed-tokens.ts'
import { createVault, type VaultKey } from '../tokens/vault.ts'
import { judgeKeys, ownKey, ownKeyFile, readKnownKeys } from '../tokens/vault-keys.ts'
import { type Finding, fail, type Installation, ok, warn } from './check.ts'

/** The end of a dialect has a check of its own. */
const REPORTED_ELSEWHERE = ['provider.api']

/** Settings that work as written, but need attention. */
export function checkConfig(notices: readonly Notice[]): Finding[] {
  const shown = notices.filter(({ path }) => !REPORTED_ELSEWHERE.includes(path))
  if (shown.length === 0) return [ok('config', 'no notices')]
  return shown.map(({ path, line, message }) => {
    const place = line === undefined ? path : `${path} (line ${line})`
    return warn('config', place === '' ? message : `${place}: ${message}`)
  })
}

const OPEN_FILES = 'open-files'
/** Connections to provider, Redis and receivers, and open pages: more than this hardly comes together. */
const ENOUGH = 4_096

/** How many files and connections a process that is started here may have open: a daemon that can't open one more is stuck. */
export function checkFileLimit(readLimits = () => readFileSync('/proc/self/limits', 'utf8')): Finding {
  const most = hardLimit(readLimits)
  if (most === undefined) return ok(OPEN_FILES, 'this system does not show the number')
  const detail = `${most === Number.POSITIVE_INFINITY ? 'any number' : most} may be open at a time`
  if (most >= ENOUGH) return ok(OPEN_FILES, detail)
  return warn(OPEN_FILES, detail, `raise it to ${ENOUGH} or more: LimitNOFILE= in the unit, ulimit -n in a shell`)
}

/** Node takes all that it may have. */
function hardLimit(readLimits: () => string): number | undefined {
  try {
    const most = /^Max open files +\S+ +(\S+)/m.exec(readLimits())?.[1]
    return most === 'unlimited' ? Number.POSITIVE_INFINITY : most === undefined ? undefined : Number(most)
  } catch {
    return undefined
  }
}

const ENCRYPTION = 'encryption'

/** The keys open the stored tokens. Makes no key and stores nothing: that is for the first start to do. */
export async function checkEncryption(installation: Installation): Promise<Finding[]> {
  const { redis, keys } = installation
  const vaultKeys = keysOf(installation)
  const known = await redis.store.then((store) => readKnownKeys(store, keys)).catch(() => undefined)
  if (known === undefined) return [warn(ENCRYPTION, 'not checked: Redis does not answer')]
  if (known.size === 0) return [ok(ENCRYPTION, 'nothing is stored yet')]
  if (vaultKeys === undefined) {
    const file = ownKeyFile(installation.config.dataDir)
    return [fail(ENCRYPTION, `tokens are stored, but their key ${file} is gone`, 'restore it from a backup')]
  }
  const problems = judgeKeys(known, createVault(vaultKeys), 'refused')
  if (problems.length === 0) return [ok(ENCRYPTION, 'the keys open all stored tokens')]
  return problems.map((problem) => fail(ENCRYPTION, problem, 'check encryption.keys, or restore the key from a backup'))
}

/** Undefined: the first start will make one. */
export function keysOf({
  vaultKeys,
  config,
}: Pick<Installation, 'vaultKeys' | 'config'>): readonly VaultKey[] | undefined {
  if (vaultKeys !== undefined) return vaultKeys
  return existsSync(ownKeyFile(config.dataDir)) ? [ownKey(config.dataDir).key] : undefined
}

const ADMIN_TOKENS = 'admin-tokens'

/** Each named admin token that is stored was made by this installation: others open nothing. */
export async function checkAdminTokens(installation: Installation): Promise<Finding> {
  const ring = keysOf(installation)
  if (ring === undefined) return ok(ADMIN_TOKENS, 'there is no key yet to make one with')
  const vault = createVault(ring)
  const stored = await installation.redis.store
    .then((store) => new AdminTokenStore(store, installation.keys, vault).list())
    .catch(() => undefined)
  if (stored === undefined) return warn(ADMIN_TOKENS, 'not known: Redis does not answer')
  const ignored = stored.filter(({ isOurs }) => !isOurs).length
  if (ignored === 0) return ok(ADMIN_TOKENS, countOf(stored.length, 'named token'))
  const fix = 'plimsoll admin-tokens list names them: remove them, and make new ones for those that you know'
  return warn(ADMIN_TOKENS, `${ignored} of ${stored.length} were not made by this installation and do not work`, fix)
}

const SEALED = 'sealed-tokens'

/** New tokens that Redis did not take, and that wait in the data folder, can be stored by the next start. */
export function checkAnswers(installation: Pick<Installation, 'vaultKeys' | 'config'>): Finding {
  const ring = keysOf(installation)
  const trouble = ring && describeStuck(unopenedLines(createVault(ring), installation.config.dataDir))
  if (trouble === undefined) return ok(SEALED, 'the keys open every answer in the data folder')
  const fix =
    'restore the key from a backup and add it to encryption.keys. If it is lost for good, remove these answers alone from ' +
    'dataDir/answers, and connect their accounts again'
  return fail(SEALED, trouble, fix)
}

const DISK = 'disk'

/** How much room the private Redis has; how long it lasts a daemon knows, which sees it shrink. */
export async function checkDisk({ config, redis }: Pick<Installation, 'config' | 'redis'>): Promise<Finding[]> {
  if (redis.isPrivate !== true) return []
  const samples = await sampleDisk(config.dataDir, 0, [])
  const low = judgeDisk(samples)
  if (low !== undefined) return [warn(DISK, low, 'make room: on a full disk no token can be stored')]
  return [ok(DISK, `${formatCount((samples[0]?.free ?? 0) / 1e6)} MB left for dataDir`)]
}

const SECRET_FILES = 'secret-files'

/**
 * Users of this machine who may read or change the files of keys and other secrets; the config is one of them where
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
    ...files.flatMap((file) => judgeOwner(file, statSync(file).uid) ?? judgeMode(file, statSync(file).mode) ?? []),
  ]
  if (findings.length > 0) return findings
  return [ok(SECRET_FILES, files.length === 0 ? 'none' : `${files.length} readable by this user only`)]
}

/**
 * The owner of a file may change it, whatever its mode. Root may do anything anyway, and platforms hand secrets out as
 * root's files.
 */
function judgeOwner(file: string, owner: number): Finding | undefined {
  const own = process.geteuid?.()
  if (own === undefined || owner === own || owner === 0) return undefined
  return warn(
    SECRET_FILES,
    `${file} belongs to another user (user id ${owner}), who may change it`,
    `chown ${own} ${file}`,
  )
}

/** Reading is only a warning: platforms that hand secrets out as files often let their own group read them. */
function judgeMode(file: string, mode: number): Finding | undefined {
  const fix = `chmod 600 ${file}`
  if ((mode & 0o022) !== 0) return fail(SECRET_FILES, `others may change ${file}`, fix)
  return (mode & 0o044) === 0 ? undefined : warn(SECRET_FILES, `others may read ${file}`, fix)
}

function judgeConfigFile({ path, hasSecrets }: NonNullable<Installation['configFile']>): Finding[] {
  const { mode, uid } = statSync(path)
  const stranger = judgeOwner(path, uid)
  if (stranger !== undefined) return [stranger]
  const found = judgeMode(path, mode)
  return found === undefined || (found.level === 'warn' && !hasSecrets) ? [] : [found]
}

/** True where secrets are in the text itself, rather than in files or in the environment. */
export function holdsSecrets(text: string, value: unknown): boolean {
  if (value instanceof Secret) return isWorthHiding(value.reveal()) && text.includes(value.reveal())
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((part) => holdsSecrets(text, part))
}

/** An address without a password gives nothing away. */
function isWorthHiding(secret: string): boolean {
  return !URL.canParse(secret) || new URL(secret).password !== ''
}
