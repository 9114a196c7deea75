import { judgeProcess } from './all-checks.ts'
import type { OwnFinding } from './check.ts'
import type { ProcessFacts } from './process-facts.ts'

/** How the daemon is, for probes. */
export interface HealthReport {
  /** Work moves on: sweeps finish, and jobs that are under way end. Where it doesn't, a restart is worth a try. */
  alive: boolean
  /** Worth sending requests to. */
  ready: boolean
  findings: readonly OwnFinding[]
}

export function judgeHealth(facts: ProcessFacts): HealthReport {
  const findings = judgeProcess(facts)
  const stops = (what: OwnFinding['stops']) => findings.some((one) => one.level !== 'ok' && one.stops === what)
  return { alive: !stops('work'), ready: !stops('requests'), findings }
}

/** The failing checks, for other daemons, pages and the service manager. */
export function illOf({ findings }: HealthReport): { name: string; says: string }[] {
  return findings.filter(({ level }) => level === 'critical').map(({ name, says }) => ({ name, says }))
}
