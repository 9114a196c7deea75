import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** Files that Plimsoll makes in its data folder. A folder with other files may be open for their sake. */
const OWN = /^(keys|redis|answers|admin-token|daemon\.json)\b/

/**
 * The data folder, or a folder in it: made where it is missing, for this user's eyes only. One that others may read,
 * made by hand or by an older version, is closed to them. Throws where it can't be, and where it is another user's, who could put
 * keys of his own there; a link in it leads to what may be. The data folder itself may be a link of the operator.
 */
export function openDataFolder(dataDir: string, name?: 'keys' | 'redis' | 'answers'): string {
  const whole = resolve(dataDir)
  makePrivate(whole, readdirSync)
  if (name === undefined) return whole
  const folder = join(whole, name)
  makePrivate(folder, () => [])
  if (lstatSync(folder).isSymbolicLink()) throw new Error(`${folder} is a link: put the folder itself there`)
  return folder
}

/** A file of the data folder that holds a secret. Throws where it is a link, or another user's. `wasOpen`: it was closed to others. */
export function readOwnFile(file: string): { text: string; wasOpen: boolean } {
  const opened = openUnlinked(file)
  try {
    const { uid, mode } = fstatSync(opened)
    refuseStranger(file, uid)
    const wasOpen = (mode & 0o077) !== 0
    if (wasOpen) fchmodSync(opened, 0o600)
    return { text: readFileSync(opened, 'utf8'), wasOpen }
  } finally {
    closeSync(opened)
  }
}

function openUnlinked(file: string): number {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error
    throw new Error(`${file} is a link: put the file itself there`)
  }
}

function refuseStranger(path: string, owner: number): void {
  const own = process.geteuid?.()
  if (own === undefined || owner === own) return
  throw new Error(
    `${path} belongs to another user of this machine (user id ${owner}): run plimsoll as that user, or hand it over with ` +
      `chown -R ${own} ${path}`,
  )
}

function makePrivate(folder: string, list: (folder: string) => string[]): void {
  makeFolder(folder)
  const { uid, mode: all } = statSync(folder)
  refuseStranger(folder, uid)
  const mode = all & 0o777
  if ((mode & 0o077) === 0) return
  const stranger = list(folder).find((name) => !OWN.test(name))
  if (stranger !== undefined) throw new OpenFolderError(folder, mode, `it also holds ${stranger}`)
  try {
    chmodSync(folder, 0o700)
  } catch (error) {
    throw new OpenFolderError(folder, mode, String((error as NodeJS.ErrnoException).code))
  }
}

/** With those above it. One by one: of a read-only file system Node's own recursion says that there is no such folder. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return
    if (code !== 'ENOENT') throw error
    makeFolder(dirname(folder))
    makeFolder(folder)
  }
}

class OpenFolderError extends Error {
  constructor(folder: string, mode: number, why: string) {
    super(
      `${folder} is open to other users of this machine (mode ${mode.toString(8)}) and was not closed: ${why}; ` +
        `run chmod 700 ${folder}, or set dataDir to a folder of Plimsoll's own`,
    )
  }
}

/** For this user's eyes only. Linked into place whole: another process must never find half of it. False: it was there. */
export function writeOnce(file: string, text: () => string): boolean {
  if (existsSync(file)) return false
  const own = `${file}.${process.pid}`
  writeFileSync(own, text(), { mode: 0o600 })
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

/**
 * In one step and for this user's eyes only, whatever was there: no reader finds half of it, and a link is replaced,
 * not followed.
 */
export function replaceSecretFile(file: string, text: string): void {
  // Another one of this process id may have left its own, in a container every one of them.
  const whole = `${file}.${process.pid}.${process.hrtime.bigint()}.tmp`
  try {
    writeFileSync(whole, text, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(whole, file)
  } catch (error) {
    rmSync(whole, { force: true })
    throw error
  }
}
