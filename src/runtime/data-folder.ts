import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** What Plimsoll makes in its data folder. One that holds other things may be open for their sake. */
const OWN = /^(keys|redis|answers|admin-token)\b/

/**
 * The data folder, or a folder in it: made where it is missing, for this user's eyes only. One that others may read,
 * made by hand or by an older version, is closed to them. Throws where it can't be.
 */
export function openDataFolder(dataDir: string, name?: 'keys' | 'redis' | 'answers'): string {
  const whole = resolve(dataDir)
  makePrivate(whole, readdirSync)
  if (name === undefined) return whole
  const folder = join(whole, name)
  makePrivate(folder, () => [])
  return folder
}

function makePrivate(folder: string, list: (folder: string) => string[]): void {
  makeFolder(folder)
  const mode = statSync(folder).mode & 0o777
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

/** In one step and for this user's eyes only, whatever was there: nobody finds half of it, and a link is replaced, not followed. */
export function replaceSecretFile(file: string, text: string): void {
  const whole = `${file}.${process.pid}.tmp`
  try {
    writeFileSync(whole, text, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(whole, file)
  } catch (error) {
    rmSync(whole, { force: true })
    throw error
  }
}
