import { expect, test } from 'vitest'
import { type DiskSample, judgeDisk, sampleDisk } from '../../src/heartbeat/disk-space.ts'

const MINUTE = 60_000
const GB = 1e9
const sample = (minute: number, free: number, size = 100 * GB): DiskSample => ({ at: minute * MINUTE, free, size })

test.each<[string, DiskSample[], string | undefined]>([
  ['nothing is known', [], undefined],
  ['there is room', [sample(0, 40 * GB)], undefined],
  ['little is left of a large disk', [sample(0, 0.9 * GB)], 'the disk of dataDir has 900 MB left (0.9 %)'],
  ['a small disk is half empty', [sample(0, 0.5 * GB, GB)], undefined],
  ['a small disk is nearly full', [sample(0, 0.04 * GB, GB)], 'the disk of dataDir has 40 MB left (4 %)'],
  [
    'it fills up within the day',
    [sample(0, 42 * GB), sample(60, 40 * GB)],
    'the disk of dataDir has 40,000 MB left (40 %), and is full in 20 h at the pace of the last hour',
  ],
  ['it lasts for two days', [sample(0, 41 * GB), sample(60, 40.2 * GB)], undefined],
  ['much was written in a few minutes', [sample(0, 60 * GB), sample(9, 40 * GB)], undefined],
  ['room was made', [sample(0, 20 * GB), sample(60, 40 * GB)], undefined],
  ['it is full', [sample(0, 0)], 'the disk of dataDir has 0 MB left (0 %)'],
])('%s', (_, samples, says) => {
  expect(judgeDisk(samples)).toBe(says)
})

test('samples of the last hour are kept, those of the disk that the folder is on', async () => {
  const before = [sample(0, 1), sample(1, 2), sample(30, 3)]
  const samples = await sampleDisk('/', 61 * MINUTE, before)
  expect(samples.slice(0, 2)).toEqual(before.slice(1))
  expect(samples[2]?.free).toBeGreaterThan(0)
  expect(samples[2]?.size).toBeGreaterThanOrEqual(samples[2]?.free ?? 0)
})
