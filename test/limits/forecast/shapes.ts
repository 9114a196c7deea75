import { bell, dice } from './days.ts'

/** A way in which a series moves, and what is to be told of it. Days count from the one before which something changes. */
export interface Shape {
  name: string
  /** Days on which it is read before that. */
  before: number
  /** The usage at the end of day n, 0 for the last one before the change; negative ones came before. */
  usage: (n: number) => number
  /** 1,000 where it is left out. */
  limit?: (n: number) => number
  /** Days on which nothing could be read. */
  isMissing?: (n: number) => boolean
  /** For how long it is looked at; less where it becomes full. */
  days: number
  outcome: string
  /**
   * The first day on which what is said is right; on how many later ones the truth is outside of the range, and on how many
   * nothing is foretold though an end comes; the last one on which an end is foretold.
   */
  expected: { noticed: number; wrong: number; silent: number; last: number | null }
}

const after = (n: number) => Math.max(0, n)
/** Weekdays among the first n days; day 1 is a Wednesday. */
const weekdays = (n: number) => {
  const count = (day: number) => 5 * Math.floor(day / 7) + Math.min(5, ((day % 7) + 7) % 7)
  return count(n + 2) - count(2)
}
/** Errs each day by itself, the same on the same day. */
const noise = (n: number) => bell(dice(n * 7_919 + 3))

export const SHAPES: Shape[] = [
  {
    ...{ name: 'steady, 5 a day', before: 1, days: 100, usage: (n) => 500 + 5 * n },
    outcome: 'the exact day, as soon as a week is read',
    expected: { noticed: 6, wrong: 0, silent: 0, last: 99 },
  },
  {
    ...{ name: 'flat for five weeks, then 10 a day', before: 35, days: 60, usage: (n) => 500 + 10 * after(n) },
    outcome: 'said on the second day; from the third on the exact day',
    expected: { noticed: 2, wrong: 0, silent: 0, last: 49 },
  },
  {
    ...{ name: 'the same, beginning late in a day', before: 35, days: 60, usage: (n) => 500 + 10 * after(n - 0.7) },
    outcome: 'said on the third day',
    expected: { noticed: 3, wrong: 0, silent: 0, last: 50 },
  },
  {
    ...{ name: 'the same, among days that err', before: 35, days: 60 },
    usage: (n) => Math.round(500 + 10 * after(n) + 4 * noise(n)),
    outcome: 'said within three days',
    expected: { noticed: 3, wrong: 2, silent: 0, last: 50 },
  },
  {
    ...{ name: 'grows by 3 % a day', before: 1, days: 100, usage: (n) => Math.round(100 * 1.03 ** n) },
    outcome: 'the days are of an even pace, the range holds the far sooner truth',
    expected: { noticed: 6, wrong: 0, silent: 0, last: 77 },
  },
  {
    ...{ name: 'flat, then 3 % a day', before: 35, days: 100, usage: (n) => Math.round(400 * 1.03 ** after(n)) },
    outcome: 'said on the second day, right from then on',
    expected: { noticed: 2, wrong: 0, silent: 0, last: 30 },
  },
  {
    ...{ name: 'on weekdays only, 14 a day', before: 28, days: 60, usage: (n) => 500 + 14 * weekdays(n) },
    outcome: 'weekends are no change of pace',
    expected: { noticed: 1, wrong: 0, silent: 0, last: 49 },
  },
  {
    ...{ name: 'flat, then 14 on weekdays', before: 35, days: 60, usage: (n) => 500 + 14 * weekdays(after(n)) },
    outcome: 'said on the second day, and on weekends, too',
    expected: { noticed: 2, wrong: 0, silent: 0, last: 49 },
  },
  {
    ...{ name: 'twice as fast, from 5 to 10 a day', before: 35, days: 60, usage: (n) => 500 + 5 * n + 5 * after(n) },
    outcome: 'the sooner end within three days',
    expected: { noticed: 2, wrong: 0, silent: 0, last: 49 },
  },
  {
    ...{ name: 'slower, from 10 to 2 a day', before: 35, days: 60, usage: (n) => 600 + 10 * n - 8 * after(n) },
    outcome: 'the later end is in the range within three days',
    expected: { noticed: 2, wrong: 0, silent: 0, last: 60 },
  },
  {
    ...{ name: 'stops to grow', before: 35, days: 60, usage: (n) => 600 + 10 * (n - after(n)) },
    outcome: 'an open range within two days, no end any more after four weeks',
    expected: { noticed: 2, wrong: 0, silent: 0, last: 25 },
  },
  {
    ...{
      name: 'deletions: 10 a day up, then 10 down',
      before: 35,
      days: 30,
      usage: (n) => 700 + 10 * n - 20 * after(n),
    },
    outcome: 'what falls has no end',
    expected: { noticed: 2, wrong: 0, silent: 0, last: 5 },
  },
  {
    ...{
      name: 'a cleanup of 200 in steady growth',
      before: 28,
      days: 80,
      usage: (n) => 700 + 5 * n - (n > 0 ? 200 : 0),
    },
    outcome: 'the day moves, the pace does not',
    expected: { noticed: 1, wrong: 0, silent: 0, last: 80 },
  },
  {
    ...{ name: 'an import of 200, else flat', before: 28, days: 60, usage: (n) => (n > 0 ? 700 : 500) },
    outcome: 'nothing: one step is no growth',
    expected: { noticed: 1, wrong: 0, silent: 0, last: null },
  },
  {
    ...{
      name: 'an import of 200 in steady growth',
      before: 28,
      days: 60,
      usage: (n) => 500 + 5 * n + (n > 0 ? 200 : 0),
    },
    outcome: 'the day moves, the pace does not',
    expected: { noticed: 1, wrong: 0, silent: 0, last: 59 },
  },
  {
    ...{
      name: 'an import over three days, else flat',
      before: 28,
      days: 60,
      usage: (n) => 500 + 60 * Math.min(3, after(n)),
    },
    outcome: 'like growth, with an open range; over after a week',
    expected: { noticed: 1, wrong: 0, silent: 0, last: 8 },
  },
  {
    ...{ name: 'month-end peaks, 60 in two days', before: 28, days: 200 },
    usage: (n) => 500 + 60 * Math.floor(n / 30) + (((n % 30) + 30) % 30 >= 29 ? 30 : 0),
    outcome: 'an open range after each peak; in between nothing, since two of them are no steady growth',
    expected: { noticed: 1, wrong: 0, silent: 159, last: 185 },
  },
  {
    ...{ name: 'the limit moves from 1,000 to 1,500', before: 28, days: 60, usage: (n) => 600 + 10 * n },
    limit: (n) => (n > 0 ? 1_500 : 1_000),
    outcome: 'the day moves at once, the pace does not',
    expected: { noticed: 1, wrong: 0, silent: 0, last: 60 },
  },
  {
    ...{
      name: 'a limit that comes down on a flat series',
      before: 28,
      days: 40,
      usage: () => 500,
      limit: (n) => 1_000 - 10 * n,
    },
    outcome: 'nothing: a limit that moves is no growth',
    expected: { noticed: 1, wrong: 0, silent: 0, last: null },
  },
  {
    ...{ name: 'ten days without readings in steady growth', before: 28, days: 60, usage: (n) => 500 + 10 * n },
    isMissing: (n) => n > 0 && n <= 10,
    outcome: 'as before, from the first reading on',
    expected: { noticed: 11, wrong: 0, silent: 0, last: 49 },
  },
]
