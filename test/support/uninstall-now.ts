import { DueSets } from '../../src/accounts/due-sets.ts'
import { runUninstall, type UninstallDeps } from '../../src/accounts/uninstall.ts'

/** One attempt to delete the account's refresh token, as its job makes it, due or not. */
export async function uninstallNow(deps: UninstallDeps, hubId: number): ReturnType<typeof runUninstall> {
  const claimed = await new DueSets(deps.store, deps.keys).claimOne('uninstall', hubId, 30_000)
  if (claimed === 'held') return { is: 'lost' }
  return runUninstall(deps, typeof claimed === 'string' ? { hubId, claim: 0 } : claimed)
}
