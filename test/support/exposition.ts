/** A metric as /metrics shows it. */
export interface ShownMetric {
  name: string
  type: string
  help: string
  /** Names of its labels, in order. */
  labels: string[]
  /** Values that were seen, by label. */
  values: Record<string, Set<string>>
}

/** What a scrape brought, by name. */
export function readExposition(text: string): Map<string, ShownMetric> {
  const metrics = new Map<string, ShownMetric>()
  for (const line of text.split('\n')) {
    const [, name = '', help = ''] = /^# HELP (\S+) (.*)$/.exec(line) ?? []
    if (name !== '') metrics.set(name, { name, type: '', help, labels: [], values: {} })
    const [, typed = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    const metric = metrics.get(typed)
    if (metric !== undefined) metric.type = type
    if (!line.startsWith('#')) noteLabels(metrics, line)
  }
  return metrics
}

/** A sample of a histogram goes by another name than the metric. */
export function metricOf<T>(metrics: ReadonlyMap<string, T>, sample: string): T | undefined {
  return metrics.get(sample) ?? metrics.get(sample.replace(/_(bucket|sum|count)$/, ''))
}

/** The sum of the samples with that name whose labels are those. */
export function sumOf(text: string, name: string, labels = ''): number {
  const samples = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  return samples.filter((line) => line.includes(labels)).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

function noteLabels(metrics: ReadonlyMap<string, ShownMetric>, line: string): void {
  const [, sample = '', labels = ''] = /^(\w+)\{(.*)\} \S+$/.exec(line) ?? []
  const metric = metricOf(metrics, sample)
  if (metric === undefined) return
  for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
    if (!metric.labels.includes(label)) metric.labels.push(label)
    metric.values[label] = (metric.values[label] ?? new Set()).add(value)
  }
}
