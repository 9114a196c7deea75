import { readStatusFacts, type StatusSources } from '../../checks/status-facts.ts'
import { type FleetVerdict, fleetVerdict, unknownVerdict } from '../../checks/verdict.ts'
import { isRedisAway } from '../../redis/away.ts'
import { sharedRead } from '../../runtime/gauge.ts'
import { type Html, html } from '../../text/html.ts'
import type { WebDeps } from '../web-deps.ts'

/** Pages come in quick succession: so long they share a verdict. */
const SHARED_MS = 5_000
/** An installation in trouble takes long to read: no more than this part of the time is spent on it. */
const MOST_OF_TIME = 1 / 20

export interface VerdictReader {
  /** Never rejects: a page is shown all the same. */
  read(): Promise<FleetVerdict>
  /** An operator has just changed something. */
  forget(): void
}

/** The verdict on top of every page, some seconds old at most. */
export function verdictReader(deps: StatusSources & Pick<WebDeps, 'log'>): VerdictReader {
  let kept: { until: number; verdict: FleetVerdict } | undefined
  const readAnew = sharedRead(async () => {
    const begunAt = deps.clock.steady()
    const verdict = await readStatusFacts(deps)
      .then(fleetVerdict)
      .catch((error: unknown) => {
        if (!isRedisAway(error)) deps.log.error({ code: 'http.error', err: error }, 'the verdict could not be read')
        return unknownVerdict(isRedisAway(error))
      })
    const now = deps.clock.steady()
    kept = { until: now + Math.max(SHARED_MS, (now - begunAt) / MOST_OF_TIME), verdict }
    return verdict
  })
  return {
    read: async () => (kept !== undefined && deps.clock.steady() < kept.until ? kept.verdict : readAnew()),
    forget: () => {
      kept = undefined
    },
  }
}

/** `isLive`: the page can be asked for again. */
export function verdictLine({ level, says }: FleetVerdict, isLive: boolean): Html {
  return html`<p class="health ${level === 'ok' ? 'good' : level}"${isLive ? html` data-live="health"` : undefined}><a href="/">${says}</a></p>`
}
