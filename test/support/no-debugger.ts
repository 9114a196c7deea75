import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { expect } from 'vitest'
import type { Daemon } from './daemon.ts'
import { eventually } from './fleet.ts'

/** Ports that a process listens on, as `/proc/net/tcp` writes them. */
function portsOf(pid: number): string[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]
      } catch {
        return undefined // Closed meanwhile.
      }
    }),
  )
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) =>
    readFileSync(table, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === '0A' && inodes.has(inode))
      .map(([, local = '']) => local),
  )
}

/**
 * SIGUSR1 makes a Node that nobody told otherwise open a debugger, on a port that all users of the machine reach. Sends it to
 * a daemon's processes, and lets the daemon do something else afterwards.
 */
export async function expectNoDebugger(daemon: Daemon, pids: readonly number[]): Promise<void> {
  await expectNodeOpensOne()
  const before = pids.map(portsOf)
  for (const pid of pids) process.kill(pid, 'SIGUSR1')
  const since = daemon.lines.length
  daemon.child.kill('SIGHUP')
  await daemon.line(/"config\.reloaded"/, since)
  expect(pids.map(portsOf)).toEqual(before)
  expect(daemon.lines.filter((line) => /debugger|inspector/i.test(line))).toEqual([])
  expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200)
}

/** Without that, nothing would be shown here. */
async function expectNodeOpensOne(): Promise<void> {
  const node = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.error("up")'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  node.stderr.on('data', (data) => (said += data))
  await eventually('the start', async () => said.includes('up'))
  node.kill('SIGUSR1')
  await eventually('a debugger', async () => /Debugger listening|Starting inspector/.test(said))
  node.kill('SIGKILL')
}
