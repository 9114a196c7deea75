import { reportByOrigin } from './by-origin.ts'

/** Deals, tickets and orders. */
export const servedPipelines = reportByOrigin({
  name: 'pipelines',
  path: '/pipelines',
  limits: { '0-3': 100, '0-5': 100, '0-123': 50 },
  customLimit: 100,
})
