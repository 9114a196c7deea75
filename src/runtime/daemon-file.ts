import { readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openDataFolder, readOwnFile, replaceSecretFile } from './data-folder.ts'

/** By which commands of this machine find the daemon, and are let in by it. */
interface DaemonFile {
  url: string
  pid: number
  /** Made at each start: it may do everything, and names the user who runs the command. */
  token: string
}

function daemonFileIn(dataDir: string): string {
  return join(resolve(dataDir), 'daemon.json')
}

/** For this user's eyes only. The daemon that started last is the one that is found. */
export function writeDaemonFile(dataDir: string, { url, token }: Pick<DaemonFile, 'url' | 'token'>): void {
  openDataFolder(dataDir)
  const file: DaemonFile = { url, pid: process.pid, token }
  replaceSecretFile(daemonFileIn(dataDir), `${JSON.stringify(file)}\n`)
}

/** Unless another daemon has written it since. */
export function removeDaemonFile(dataDir: string, own: string): void {
  try {
    const { token } = JSON.parse(readFileSync(daemonFileIn(dataDir), 'utf8')) as Partial<DaemonFile>
    if (token === own) rmSync(daemonFileIn(dataDir))
  } catch {
    // Gone already: nothing leads to this daemon any more.
  }
}

/** Undefined where no daemon has left one, or it can't be read as one. Throws where it is another user's. */
export function readDaemonFile(dataDir: string): DaemonFile | undefined {
  let text: string
  try {
    text = readOwnFile(daemonFileIn(dataDir)).text
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const { url, pid, token } = JSON.parse(text) as Record<string, unknown>
    const isWhole = typeof url === 'string' && typeof pid === 'number' && typeof token === 'string'
    return isWhole ? { url, pid, token } : undefined
  } catch {
    return undefined
  }
}
