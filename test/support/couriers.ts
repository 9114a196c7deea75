import { readFileSync } from 'node:fs'

/** Process ids of the couriers that daemons say to have started. */
export function couriersIn(lines: readonly string[]): number[] {
  return lines
    .filter((line) => line.includes('"courier.started"'))
    .map((line) => (JSON.parse(line) as { pid: number }).pid)
}

/** Whether a courier of this id is running: ids are given out again, and a process that ended may wait to be reaped. */
export function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('courier-process')
  } catch {
    return false
  }
}
