import type { Pace } from '../../../src/tokens/endpoint/pace.ts'
import { afterReport, type EndpointState, grant, newState } from '../../../src/tokens/endpoint/state.ts'

export const NOW = Date.parse('2026-11-21T10:00:00.000Z')

/** A provider that allows `calls` in any `perMs`, and a daemon with a backlog. */
export interface Simulation {
  limit: { calls: number; perMs: number }
  saysHowLong: boolean
  backlog: number
  inFlight?: number
  latencyMs?: number
}

export interface Simulated {
  ms: number
  /** What the limit allows at best. */
  idealMs: number
  refusedShare: number
  /** Calls sent in each second. */
  sent: number[]
  mostPermits: number
  opened: number
  state: EndpointState
}

const STEP_MS = 20

/** Works a backlog off with a hand clock; gives up after a day. */
export function simulate(
  { limit, saysHowLong, backlog, inFlight = 64, latencyMs = 50 }: Simulation,
  pace?: Pace,
): Simulated {
  let now = NOW
  let state = newState(now)
  state = { ...state, pace: pace ?? state.pace }
  const allowed = slidingWindow(limit)
  const flying: { at: number; refusedFor: number | undefined }[] = []
  const found = {
    ms: 0,
    idealMs: idealMs(limit, backlog, inFlight, latencyMs),
    sent: [] as number[],
    mostPermits: 0,
  }
  let [done, refused, sent, opened] = [0, 0, 0, 0]
  while (done < backlog && now < NOW + 86_400_000) {
    const report = []
    while (flying[0] !== undefined && flying[0].at <= now) {
      const { refusedFor } = flying.shift() ?? { refusedFor: undefined }
      if (refusedFor === undefined) done++
      else refused++
      report.push(
        refusedFor === undefined
          ? { worked: 1 }
          : { failed: { hubId: refused, failure: tooMany(saysHowLong, refusedFor) } },
      )
    }
    const before = state.breaker.is
    state = afterReport(state, report, now)
    if (before !== 'open' && state.breaker.is === 'open') opened++
    found.mostPermits = Math.max(found.mostPermits, state.pace.permits)
    const refreshes = Math.min(inFlight - flying.length, backlog - done - flying.length)
    const { state: taken, granted } = grant(state, { refreshes, codes: 0 }, now)
    state = taken
    for (let n = 0; n < granted.calls; n++) flying.push({ at: now + latencyMs, refusedFor: allowed(now) })
    const second = Math.floor((now - NOW) / 1_000)
    found.sent[second] = (found.sent[second] ?? 0) + granted.calls
    sent += granted.calls
    now += STEP_MS
  }
  return { ...found, ms: now - NOW, refusedShare: refused / sent, opened, state }
}

function idealMs({ calls, perMs }: Simulation['limit'], backlog: number, inFlight: number, latencyMs: number): number {
  return Math.max(((backlog - calls) / calls) * perMs, (backlog / inFlight) * latencyMs, backlog)
}

/** Undefined = let through; else in how many ms the next one will be. */
function slidingWindow({ calls, perMs }: Simulation['limit']): (now: number) => number | undefined {
  const through: number[] = []
  return (now) => {
    while (through[0] !== undefined && through[0] <= now - perMs) through.shift()
    if (through.length >= calls) return (through[0] ?? now) + perMs - now
    through.push(now)
    return undefined
  }
}

function tooMany(saysHowLong: boolean, ms: number) {
  const told = retryAfter(saysHowLong, ms)
  return { class: 'transient' as const, code: '429', message: 'the provider answered 429', status: 429, ...told }
}

/** Whole seconds, as in the header. */
function retryAfter(saysHowLong: boolean, ms: number) {
  return saysHowLong ? { retryAfterMs: Math.max(1, Math.ceil(ms / 1_000)) * 1_000 } : {}
}
