import { readCoverage } from '../../views/fleet-health.ts'
import { readFleetStatus } from '../../views/fleet-status.ts'
import { outboxJson, readOutboxBalance } from '../../views/outbox-balance.ts'
import { OutboxShape } from '../../views/shapes/delivery.ts'
import { CoverageShape, FleetStatusShape } from '../../views/shapes/fleet-status.ts'
import { ok, route, TAKES_NOTHING } from './route.ts'

export const showStatus = route({
  ...TAKES_NOTHING,
  ...{ id: 'showStatus', method: 'GET', path: '/status', scope: 'read' },
  summary: 'The fleet at a glance',
  answers: { 200: { description: 'How the fleet is.', json: FleetStatusShape } },
  ...{ problems: [], example: {} },
  answer: async (deps) => ok(await readFleetStatus(deps)),
})

export const showCoverage = route({
  ...TAKES_NOTHING,
  ...{ id: 'showCoverage', method: 'GET', path: '/coverage', scope: 'read' },
  summary: 'How far readings can be relied on',
  description: 'The accounts without a fresh reading are those of `/accounts?stale=true`.',
  answers: { 200: { description: 'The coverage now.', json: CoverageShape } },
  ...{ problems: [], example: {} },
  answer: async ({ coverage, clock }) => ok(await readCoverage(coverage, clock.now())),
})

export const showOutbox = route({
  ...TAKES_NOTHING,
  ...{ id: 'showOutbox', method: 'GET', path: '/outbox', scope: 'read' },
  summary: 'Whether any alert was lost',
  description: 'From counters; `plimsoll outbox verify` checks each transition.',
  answers: { 200: { description: 'The outcome of all transitions.', json: OutboxShape } },
  ...{ problems: [], example: {} },
  answer: async (deps) => ok(outboxJson(await readOutboxBalance(deps, deps.clock.now()))),
})
