import type { SerializedError } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'

/** Ends a run with one plain line, `6 passed, 0 failed`, for whoever reads it without colours. */
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
    process.once('exit', () => process.stdout.write(line))
  }
}
