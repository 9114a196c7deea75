import { existsSync, readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { dirname, resolve } from 'node:path'
import { readDaemonFile } from '../runtime/daemon-file.ts'
import { CommandError, type Io } from './io.ts'

/** The daemon that a command asks. */
export interface DaemonAddress {
  url: URL
  token: string
  /** Found by the data folder: where it does not answer, the command works on the data itself. */
  isLocal: boolean
}

interface AddressOptions {
  config: string
  url?: string
  token?: string
}

/** The named daemon, or else the one that the config's data folder leads to; undefined where none has left its address there. */
export async function findDaemon(io: Io, options: AddressOptions): Promise<DaemonAddress | undefined> {
  const named = options.url ?? (io.env.PLIMSOLL_URL || undefined)
  const token = options.token ?? (io.env.PLIMSOLL_TOKEN || undefined)
  if (named !== undefined) {
    if (token === undefined) throw new CommandError(`which token opens ${named}? Give --token, or set PLIMSOLL_TOKEN`)
    return { url: safeUrl(named), token, isLocal: false }
  }
  const folder = await dataFolderOf(io, options.config)
  const found = folder === undefined ? undefined : readDaemonFile(folder)
  if (found === undefined) return undefined
  return { url: safeUrl(found.url), token: options.token ?? found.token, isLocal: true }
}

/** Throws where a token would cross a network unencrypted. */
function safeUrl(text: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new CommandError(`${text.slice(0, 100)} is no address: it is like https://plimsoll.example.com`)
  if (url.protocol === 'http:' && !isThisMachine(url.hostname))
    throw new CommandError(
      `no token is sent to ${url.host} over plain http: use https, or run the command on that machine`,
    )
  return url
}

function isThisMachine(host: string): boolean {
  if (host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host)) return true
  const bare = host.replace(/^\[|\]$/g, '')
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === bare))
}

async function dataFolderOf(io: Io, config: string): Promise<string | undefined> {
  const file = resolve(io.cwd, config)
  // A missing file is refused by the next step, which reads it.
  if (!existsSync(file)) return undefined
  const folder = dataFolderIn(file)
  if (folder !== undefined) return folder
  const { readConfig } = await import('./installation.ts')
  return readConfig(io, config).config.dataDir
}

/** The default of the config loader, too. */
const DEFAULT_FOLDER = '.plimsoll'
const PLAIN = /^dataDir:[ \t]+(?:'([^'\n]*)'|"([^"\\\n]*)"|([^\s#'"&*!|>%@`{[\]][^#\n]*?))[ \t]*(?:#.*)?$/m

/**
 * The data folder that a config names, read as one line of it: a command loads no parser for that. Undefined where that line is
 * written in another way.
 */
export function dataFolderIn(file: string): string | undefined {
  const text = readFileSync(file, 'utf8')
  const folder = dirname(file)
  if (!/^(?!\s*#).*dataDir/m.test(text)) return resolve(folder, DEFAULT_FOLDER)
  const [, single, double, plain] = PLAIN.exec(text) ?? []
  const written = single ?? double ?? plain
  return written === undefined || written.includes('${') ? undefined : resolve(folder, written)
}
