import { bell, dice } from './days.ts'

/** A way in which a series moves, and what is to be told of it. Days count from the one before which something changes. */
export interface Shape {
  /** What happens, and what is to be told of it. */
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
  /**
   * The first day on which what is said is right; on how many later ones the truth is outside of the range, and on how many
   * nothing is foretold though an end comes; the last one on which an end is foretold.
   */
  expected: readonly [noticed: number, wrong: number, silent: number, last: number | null]
}

const shape = (name: string, expected: Shape['expected'], moves: Omit<Shape, 'name' | 'expected'>): Shape => {
  return { name, expected, ...moves }
}

const after = (n: number) => Math.max(0, n)
/** Weekdays among the first n days; day 1 is a Wednesday. */
const weekdays = (n: number) => {
  const count = (day: number) => 5 * Math.floor(day / 7) + Math.min(5, ((day % 7) + 7) % 7)
  return count(n + 2) - count(2)
}
/** Errs each day by itself, the same on the same day. */
const noise = (n: number) => bell(dice(n * 7_919 + 3))

export const SHAPES = [
  shape('steady, 5 a day: the exact day, as soon as a week is read', [6, 0, 0, 99], {
    before: 1,
    days: 100,
    usage: (n) => 500 + 5 * n,
  }),
  shape('flat for five weeks, then 10 a day: said on the second day; from the third on the exact day', [2, 0, 0, 49], {
    before: 35,
    days: 60,
    usage: (n) => 500 + 10 * after(n),
  }),
  shape('the same, beginning late in a day: said on the third day', [3, 0, 0, 50], {
    before: 35,
    days: 60,
    usage: (n) => 500 + 10 * after(n - 0.7),
  }),
  shape('the same, among days that err: said within three days', [3, 2, 0, 50], {
    before: 35,
    days: 60,
    usage: (n) => Math.round(500 + 10 * after(n) + 4 * noise(n)),
  }),
  shape('grows by 3 % a day: the days are of an even pace, the range holds the far sooner truth', [7, 0, 0, 77], {
    before: 1,
    days: 100,
    usage: (n) => Math.round(100 * 1.03 ** n),
  }),
  shape('flat, then 3 % a day: said on the second day, right but for one day from then on', [2, 1, 0, 30], {
    before: 35,
    days: 100,
    usage: (n) => Math.round(400 * 1.03 ** after(n)),
  }),
  shape('on weekdays only, 14 a day: weekends are no change of pace', [1, 0, 0, 49], {
    before: 28,
    days: 60,
    usage: (n) => 500 + 14 * weekdays(n),
  }),
  shape('flat, then 14 on weekdays: said on the second day, and on weekends, too', [2, 0, 0, 49], {
    before: 35,
    days: 60,
    usage: (n) => 500 + 14 * weekdays(after(n)),
  }),
  shape('twice as fast, from 5 to 10 a day: the sooner end within three days', [2, 0, 0, 49], {
    before: 35,
    days: 60,
    usage: (n) => 500 + 5 * n + 5 * after(n),
  }),
  shape('slower, from 10 to 2 a day: the later end is in the range within three days', [2, 0, 0, 60], {
    before: 35,
    days: 60,
    usage: (n) => 600 + 10 * n - 8 * after(n),
  }),
  shape('stops to grow: an open range within two days, no end any more after four weeks', [2, 0, 0, 25], {
    before: 35,
    days: 60,
    usage: (n) => 600 + 10 * (n - after(n)),
  }),
  shape('deletions: 10 a day up, then 10 down: what falls has no end', [2, 0, 0, 5], {
    before: 35,
    days: 30,
    usage: (n) => 700 + 10 * n - 20 * after(n),
  }),
  shape('a cleanup of 200 in steady growth: the day moves, the pace does not', [1, 0, 0, 80], {
    before: 28,
    days: 80,
    usage: (n) => 700 + 5 * n - (n > 0 ? 200 : 0),
  }),
  shape('an import of 200, else flat: nothing: one step is no growth', [1, 0, 0, null], {
    before: 28,
    days: 60,
    usage: (n) => (n > 0 ? 700 : 500),
  }),
  shape('an import of 200 in steady growth: the day moves, the pace does not', [1, 0, 0, 59], {
    before: 28,
    days: 60,
    usage: (n) => 500 + 5 * n + (n > 0 ? 200 : 0),
  }),
  shape('an import over three days, else flat: like growth, with an open range; over after a week', [1, 0, 0, 8], {
    before: 28,
    days: 60,
    usage: (n) => 500 + 60 * Math.min(3, after(n)),
  }),
  shape(
    'month-end peaks, 60 in two days: an open range after each peak; in between nothing, since two of them are no steady growth',
    [1, 0, 159, 185],
    { before: 28, days: 200, usage: (n) => 500 + 60 * Math.floor(n / 30) + (((n % 30) + 30) % 30 >= 29 ? 30 : 0) },
  ),
  shape('the limit moves from 1,000 to 1,500: the day moves at once, the pace does not', [1, 0, 0, 60], {
    before: 28,
    days: 60,
    usage: (n) => 600 + 10 * n,
    limit: (n) => (n > 0 ? 1_500 : 1_000),
  }),
  shape('a limit that comes down on a flat series: nothing: a limit that moves is no growth', [1, 0, 0, null], {
    before: 28,
    days: 40,
    usage: () => 500,
    limit: (n) => 1_000 - 10 * n,
  }),
  shape('ten days without readings in steady growth: as before, from the first reading on', [11, 0, 0, 49], {
    before: 28,
    days: 60,
    usage: (n) => 500 + 10 * n,
    isMissing: (n) => n > 0 && n <= 10,
  }),
]
