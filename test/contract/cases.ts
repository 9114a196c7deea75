import { associationCompanions } from './cases/association-companions.ts'
import { associations } from './cases/associations.ts'
import { codes } from './cases/codes.ts'
import { customProperties } from './cases/custom-properties.ts'
import { deletion } from './cases/deletion.ts'
import { metadata } from './cases/metadata.ts'
import { refreshes } from './cases/refreshes.ts'
import { refusals } from './cases/refusals.ts'
import { wire } from './cases/wire.ts'
import type { ContractCase } from './contract.ts'

/** What we hold the provider and ourselves to, endpoint by endpoint, and then what may go wrong at any of them. */
export const CASES: readonly ContractCase[] = [
  ...codes,
  ...refreshes,
  ...metadata,
  ...deletion,
  ...associations,
  ...customProperties,
  ...associationCompanions,
  ...refusals,
  ...wire,
]
