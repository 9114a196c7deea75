import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** What Linux tells of a process, all its threads included. */
const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The command's name, in brackets, may have anything in it: the numbers come after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system] = [fields[11], fields[12]].map(Number)
  return ((user ?? 0) + (system ?? 0)) / TICKS_PER_SECOND
}

export function residentMiBOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
}
