import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { SlowestFirst } from './support/slowest-first.ts'

/** Whole daemons that `npm test` runs: an account from install to uninstall, daemons that share a fleet, daemons that are killed. */
const first = ['test/e2e/main-job.test.ts', 'test/faults/alert-crash.test.ts']
/** Pages and mails in Chromium. */
const browser = ['test/http/in-browser/*.test.ts', 'test/delivery/email/in-browser/*.test.ts']
/** All other whole daemons and commands, in `npm run test:daemons`: they mostly wait for each other. */
const whole = ['test/e2e/**/*.test.ts', 'test/faults/**/*.test.ts', 'test/http/connections.test.ts', ...browser]
/** Run there too, with more seeds. */
const simulation = 'test/simulation/*.test.ts'
/** Those of them that measure lateness, or take all the machine has: each gets it to itself. */
const timed = [
  'test/faults/{mass-crossing,killed-daemons,fleet-trouble,rate-limit}.test.ts',
  'test/e2e/{demo,bench}.test.ts',
]

/** Too long for every run, or in need of the whole machine: each has a command of its own. */
const worstDay = ['test/faults/worst-day/**/*.test.ts']
/** The parts that take all the machine has. */
const thousands = ['test/faults/worst-day/{all-at-once,flood,imported-fleet}.test.ts']
const machines = ['test/machines/**/*.test.ts']
const longRun = ['test/long-run/**/*.test.ts']
const apart = [...worstDay, ...machines, ...longRun]

/** Files that have the machine to themselves: one after the other, or so many at a time. */
function alone(
  name: string,
  include: string[],
  groupOrder: number,
  more: { maxWorkers?: number; testTimeout?: number },
) {
  return { extends: true as const, test: { name, include, maxWorkers: 1, sequence: { groupOrder }, ...more } }
}

export default defineConfig({
  root: '.',
  test: {
    reporters: [['default', { summary: false }], './test/support/plain-summary.ts'],
    sequence: { sequencer: SlowestFirst },
    // What hangs is found out; a machine that others keep busy has time enough. No test has a shorter one of its own.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    // Daemons and commands are started by the hundred: with their code compiled before, each takes half as long.
    env: { TZ: 'UTC', NODE_COMPILE_CACHE: join(tmpdir(), 'plimsoll-compile-cache') },
    projects: [
      {
        extends: true,
        // Beside the daemons below, which come first and mostly wait.
        test: {
          name: 'rooms',
          include: ['test/**/*.test.ts'],
          exclude: [...whole, ...apart],
          maxWorkers: 4,
          globalSetup: 'test/support/redis-per-worker.ts',
          env: { PLIMSOLL_SEEDS: '6' },
          // The files of a worker load the sources once.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'first-daemons', include: first, maxWorkers: 4 } },
      {
        extends: true,
        test: {
          name: 'daemons',
          include: [...whole, simulation],
          exclude: [...first, ...timed, ...apart],
          maxWorkers: 4,
          sequence: { groupOrder: 2 },
          globalSetup: 'test/support/redis-per-worker.ts',
          env: { PLIMSOLL_SEEDS: '60' },
          // Tokens live for seconds here, and end where the machine stalls: such a test is run once more.
          retry: 1,
        },
      },
      {
        extends: true,
        test: {
          name: 'timed',
          include: timed,
          fileParallelism: false,
          retry: 1,
          sequence: { groupOrder: 3 },
          // Of one file, where it says that they share a scene.
          maxConcurrency: 10,
        },
      },
      alone('worst-day-thousands', thousands, 4, {}),
      {
        extends: true,
        // Two at a time: each mostly waits for what it did to a daemon.
        test: {
          name: 'worst-day',
          include: worstDay,
          exclude: thousands,
          maxWorkers: 2,
          sequence: { groupOrder: 5 },
          maxConcurrency: 10,
        },
      },
      // Two at a time: they mostly wait, for tokens to come due and for nodes to notice that one is gone.
      alone('machines', machines, 6, { maxWorkers: 2 }),
      alone('long-run', longRun, 7, { testTimeout: 30 * 60_000 }),
    ],
  },
})
