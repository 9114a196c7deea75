import { execFileSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

/** The Redis servers that work in a folder, by their process ids: each stands in its folder. Of Linux alone. */
export function serversOn(folder: string): number[] {
  const path = realpathSync(folder)
  const found = new Map(readdirSync('/proc').flatMap((pid) => (/^\d+$/.test(pid) ? lookAt(pid, path) : [])))
  // A child that writes the file anew is no server.
  return [...found].flatMap(([pid, parent]) => (found.has(parent) ? [] : [Number(pid)]))
}

/** A server that stands there, with its parent. */
function lookAt(pid: string, folder: string): [string, string][] {
  try {
    const isServer = /^(redis|valkey)/.test(statusOf(pid, 'Name')) && readlinkSync(`/proc/${pid}/cwd`) === folder
    return isServer ? [[pid, statusOf(pid, 'PPid')]] : []
  } catch {
    return [] // It has ended.
  }
}

function statusOf(pid: string, field: string): string {
  return new RegExp(`^${field}:\\s+(\\S+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? ''
}

/** A small disk of its own; what takes it away, or why there can be none here. */
export function mountSmallDisk(folder: string, size: string): (() => void) | string {
  mkdirSync(folder, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'plimsoll-test', folder], { stdio: 'pipe' })
  } catch (error) {
    return `no tmpfs can be mounted here: ${String((error as { stderr?: Buffer }).stderr).trim()}`
  }
  return () => execFileSync('umount', ['-l', folder])
}

/** Takes all the room that is left there; what gives it back. */
export function fillDisk(folder: string): () => void {
  const file = join(folder, 'ballast')
  const opened = openSync(file, 'w')
  try {
    for (const size of [65_536, 4_096]) {
      try {
        while (writeSync(opened, Buffer.alloc(size)) === size);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
  } finally {
    closeSync(opened)
  }
  return () => rmSync(file)
}
