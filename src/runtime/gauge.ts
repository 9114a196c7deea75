import { Counter, Gauge } from 'prom-client'
import type { Metrics } from './metrics.ts'

/** A value, and the labels that it has; undefined: it is not known. */
export type Sample<T extends string> = [labels: Record<T, string>, value: number | undefined]

/** A source that answers later than that is taken for one that doesn't. */
const READ_WITHIN_MS = 2_000

/** A gauge whose values are read on request; what can't be read in time is absent. It takes the place of one of its name. */
export function gauge<T extends string = never>(
  metrics: Metrics,
  { name, help, labels: labelNames = [] }: { name: string; help: string; labels?: T[] },
  read: () => Promise<Sample<T>[]>,
): void {
  metrics.registry.removeSingleMetric(`plimsoll_${name}`)
  new Gauge({
    name: `plimsoll_${name}`,
    help,
    labelNames,
    registers: [metrics.registry],
    async collect() {
      const samples = await inTime(read())
      this.reset()
      // A gauge without labels is 0 after that.
      if (labelNames.length === 0) this.remove()
      for (const [labels, value] of samples) if (value !== undefined) this.set(labels, value)
    },
  })
}

/** A count that is kept elsewhere, read like a gauge. */
export function countedElsewhere(metrics: Metrics, name: string, help: string, read: () => Promise<number>): void {
  metrics.registry.removeSingleMetric(`plimsoll_${name}_total`)
  new Counter({
    name: `plimsoll_${name}_total`,
    help,
    labelNames: [],
    registers: [metrics.registry],
    async collect() {
      const [sample] = await inTime(read().then((count): Sample<never>[] => [[{}, count]]))
      this.reset()
      if (sample === undefined) this.remove()
      else this.inc(sample[1] ?? 0)
    },
  })
}

async function inTime<T extends string>(read: Promise<Sample<T>[]>): Promise<Sample<T>[]> {
  const late = Promise.withResolvers<Sample<T>[]>()
  const timer = setTimeout(() => late.resolve([]), READ_WITHIN_MS)
  try {
    return await Promise.race([read, late.promise])
  } catch {
    return []
  } finally {
    clearTimeout(timer)
  }
}

/** Shares one read between callers at the same time: a scrape asks for all gauges at once. */
export function sharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined
  return () => {
    underWay ??= read().finally(() => {
      underWay = undefined
    })
    return underWay
  }
}
