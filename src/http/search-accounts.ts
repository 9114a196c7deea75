import type { FastifyInstance } from 'fastify'
import { type AccountSort, type Place, parsePlace } from '../accounts/search/account-query.ts'
import { findAccount } from '../accounts/search/domains.ts'
import type { OperationDeps } from '../operations/deps.ts'
import { Refusal } from '../operations/refusal.ts'
import { Problem, wrongParameter } from './problem.ts'
import { parseHubId } from './query.ts'
import type { WebDeps } from './web-deps.ts'

/** The page of the account that a search names whole, by its number or its domain; undefined where it is a search. */
export async function pathOfNamed(
  { registry, store, keys }: Pick<WebDeps, 'registry' | 'store' | 'keys'>,
  query: unknown,
): Promise<string | undefined> {
  const { q, ...others } = query as Record<string, unknown>
  const isNarrowed = NARROWING.some((name) => (others[name] ?? '') !== '')
  if (typeof q !== 'string' || isNarrowed) return undefined
  const hubId = parseHubId(q.trim())
  if (hubId !== undefined) return (await registry.get(hubId)) && `/accounts/${hubId}`
  const domain = q.trim().toLowerCase()
  const found = domain === '' ? undefined : await findAccount({ store, keys }, domain)
  return found?.is === 'found' ? `/accounts/${found.hubId}` : undefined
}

const NARROWING = ['state', 'alert', 'tag', 'stale', 'overdue', 'after', 'before']

/** Place at which a page begins or ends, by the name that the page beside it gave. */
export function placeInAccounts(parameter: string, text: string | undefined, sort: AccountSort): Place | undefined {
  if (text === undefined) return undefined
  const place = parsePlace(text, sort)
  if (place === undefined) throw wrongParameter(parameter, 'is not a place in a list of this order')
  return place
}

/** An account may be named by its domain wherever its id is taken: in any address with `:hubId`. */
export function acceptDomains(app: FastifyInstance, deps: Pick<WebDeps, 'store' | 'keys'>): void {
  app.addHook('preHandler', async ({ params }) => {
    const given = params as { hubId?: string }
    if (given.hubId === undefined || parseHubId(given.hubId) !== undefined) return
    const found = await findAccount(deps, given.hubId.toLowerCase())
    if (found.is === 'found') given.hubId = String(found.hubId)
    if (found.is !== 'several') return
    const which = `Accounts ${found.hubIds.join(', ')} have this domain: give a hub id.`
    throw new Problem(409, which, {}, [], 'ambiguous')
  })
}

/** The hub id of the account that a field names by it, or by its domain. */
export async function hubIdNamed(name: string, deps: Pick<OperationDeps, 'store' | 'keys'>): Promise<string> {
  const text = name.trim().toLowerCase()
  // A number that can be no hub id is refused with the other fields.
  if (/^\d+$/.test(text)) return text
  const found = await findAccount(deps, text)
  switch (found.is) {
    case 'found':
      return String(found.hubId)
    case 'several':
      throw new Refusal('ambiguous', `accounts ${found.hubIds.join(', ')} have this domain: give a hub id`)
    default: {
      const hint =
        found.near.length === 0 ? 'plimsoll accounts list shows all' : `did you mean ${found.near.join(' or ')}?`
      throw new Refusal('unknown', `there is no account ${text.slice(0, 100)}`, { hint })
    }
  }
}
