import { setTimeout as pause } from 'node:timers/promises'
import { FIRST_HUB_ID } from './fleet-of-accounts.ts'
import type { WholeDaemon } from './whole-daemon.ts'

/** What people and machines look at while a daemon works. */
const PATHS = ['/', `/accounts?q=${FIRST_HUB_ID + 7}`, '/accounts?sort=poll', '/api/v1/status', '/metrics', '/healthz']

export interface PageTimes {
  path: string
  answers: number
  /** ms */
  p50: number
  p99: number
}

export interface PageProbe {
  /** Ends it. */
  times(): Promise<PageTimes[]>
}

/** Asks for each page once a second, one after the other, signed in. */
export function probePages({ ask }: Pick<WholeDaemon, 'ask'>): PageProbe {
  const took = new Map<string, number[]>(PATHS.map((path) => [path, []]))
  const ending = new AbortController()
  const round = async () => {
    for (const [path, times] of took) {
      const from = performance.now()
      await ask(path)
      times.push(performance.now() - from)
    }
  }
  const probing = (async () => {
    while (!ending.signal.aborted) {
      const next = performance.now() + 1_000
      await round()
      await pause(Math.max(0, next - performance.now()), undefined, { signal: ending.signal }).catch(() => {})
    }
  })()
  probing.catch(() => {}) // Told to whoever asks for the times.
  return {
    times: async () => {
      ending.abort()
      await probing
      return [...took].map(([path, times]) => ({ path, answers: times.length, ...shares(times) }))
    },
  }
}

function shares(times: readonly number[]): { p50: number; p99: number } {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}
