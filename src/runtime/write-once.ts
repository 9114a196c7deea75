import { existsSync, linkSync, rmSync, writeFileSync } from 'node:fs'

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
