import { defineConfig } from 'vitest/config'

/** Whole daemons against the clock: they measure lateness, so each gets the machine to itself. */
const timed = [
  'test/faults/{two-daemons,killed-daemons,fleet-trouble,rate-limit}.test.ts',
  'test/e2e/{demo,bench}.test.ts',
]
/** Whole daemons and commands that mostly wait for each other. */
const whole = ['test/e2e/**/*.test.ts', 'test/faults/**/*.test.ts']

export default defineConfig({
  root: '.',
  test: {
    reporters: [['default', { summary: false }], './test/support/plain-summary.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'rooms', include: ['test/**/*.test.ts'], exclude: whole } },
      {
        extends: true,
        test: {
          name: 'whole',
          include: whole,
          exclude: timed,
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
          testTimeout: 240_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'timed',
          include: timed,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
          testTimeout: 240_000,
          // Of one file, where it says that they share a scene.
          maxConcurrency: 10,
        },
      },
    ],
  },
})
