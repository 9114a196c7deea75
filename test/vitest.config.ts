import { defineConfig } from 'vitest/config'

const integration = ['test/e2e/**/*.test.ts', 'test/faults/**/*.test.ts']

export default defineConfig({
  root: '.',
  test: {
    reporters: [['default', { summary: false }], './test/support/plain-summary.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'rooms', include: ['test/**/*.test.ts'], exclude: integration } },
      // Whole daemons against the clock: they measure lateness, so they get the machine to themselves.
      {
        extends: true,
        test: {
          name: 'whole',
          include: integration,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 240_000,
          // Of one file, where it says that they share a scene.
          maxConcurrency: 10,
        },
      },
    ],
  },
})
