import { reportByOrigin } from './by-origin.ts'

/** Contacts, companies, deals and tickets. */
export const servedRecords = reportByOrigin({
  name: 'records',
  path: '/records',
  limits: { '0-1': 15_000_000, '0-2': 15_000_000, '0-3': 15_000_000, '0-5': 15_000_000 },
  customLimit: 1_500_000,
})
