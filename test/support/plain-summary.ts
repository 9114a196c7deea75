import { readFileSync } from 'node:fs'
import type { SerializedError } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'

/** Ends a run with one plain line, `6 passed, 0 failed`, for whoever reads it without colors; before it, what the run took of the CPU. */
export default class PlainSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 }
    for (const module of modules) {
      const tests = [...module.children.allTests()]
      // A file that does not even load has no tests to count, and must not pass for it.
      if (tests.length === 0 && module.state() === 'failed') count.failed++
      for (const test of tests) count[test.result().state]++
    }
    const skipped = count.skipped + count.pending
    const line = `${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`
    process.once('exit', () => process.stdout.write(cpuSoFar() + line))
  }
}

/** Of this process and all that it started, but for what others had to end; Linux alone says. */
function cpuSoFar(): string {
  if (process.platform !== 'linux') return ''
  const [, ofProcess = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ')
  const ticks = ofProcess.split(' ').slice(11, 15)
  return `${Math.round(ticks.reduce((sum, some) => sum + Number(some), 0) / 100)} s of CPU\n`
}
