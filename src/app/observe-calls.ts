import { CALL_CLASSES, ENDPOINTS, type ObservedCall } from '../provider/observed-call.ts'
import type { Metrics } from '../runtime/metrics.ts'

/** Counts calls to the provider. All that may come are there from the start, at 0: the first failure is seen as a rise. */
export function observeCalls({ providerRequests, providerLatency }: Metrics): (call: ObservedCall) => void {
  const counters = eachOf(ENDPOINTS, (endpoint) =>
    eachOf(CALL_CLASSES, (name) => {
      const counter = providerRequests.labels({ endpoint, class: name })
      counter.inc(0)
      return counter
    }),
  )
  const latencies = eachOf(ENDPOINTS, (endpoint) => providerLatency.labels({ endpoint }))
  return (call) => {
    counters[call.endpoint][call.class].inc()
    latencies[call.endpoint].observe(Math.max(0, call.ms) / 1_000)
  }
}

function eachOf<K extends string, T>(names: readonly K[], make: (name: K) => T): Record<K, T> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<K, T>
}
