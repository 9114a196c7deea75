import type { SerializedError } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'

/**
 * Ends a run with one plain line, `6 passed, 0 failed`, for whoever reads it without colours. Before it, what passed only when
 * it was run again is named, with why it failed at first: one to look into, or a rare fault.
 */
export default class PlainSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const again: string[] = []
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 }
    for (const module of modules) {
      const tests = [...module.children.allTests()]
      // A file that does not even load has no tests to count, and must not pass for it.
      if (tests.length === 0 && module.state() === 'failed') count.failed++
      for (const test of tests) {
        count[test.result().state]++
        if (!test.diagnostic()?.flaky) continue
        const why = test.result().errors?.map(({ message }) => message.split('\n')[0]) ?? []
        again.push(`passed when run again: ${module.relativeModuleId}: ${test.fullName}: ${why.join('; ')}\n`)
      }
    }
    const skipped = count.skipped + count.pending
    const line = `${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`
    process.once('exit', () => process.stdout.write(again.join('') + line))
  }
}
