import type { Daemon } from './daemon.ts'
import {
  ask,
  type JournalEntry as Entry,
  eventually,
  getJson,
  type HookAlert,
  hooksOf,
  journalOf,
  send,
} from './fleet.ts'
import { refreshTimes, type Scene } from './scene.ts'

export interface JournalEntry extends Entry {
  method: string
  api?: string
}

export interface Account {
  state: string
  hubDomain: string
  user: string
  token: { obtainedAt: string; expiresAt: string; nextRefreshAt: string; driftMs: number | null }
  refreshFailure: { reason: string } | null
  refusedSince: string | null
  parkedUntil: string | null
  pollFailure: { reason: string } | null
  watch: { is: string } | null
}

export const at = ({ time }: { time: string }) => Date.parse(time)

/** Looks at accounts from outside, and what is done to them there. */
export function lookInto(scene: () => Scene) {
  const accountOf = (daemon: Daemon, hubId: number) => getJson<Account>(`${daemon.url}/api/v1/accounts/${hubId}`)
  const tokenOf = (daemon: Daemon, hubId: number) => ask(`${daemon.url}/api/v1/accounts/${hubId}/token`)
  const control = (method: string, path: string, body?: object) =>
    send(`${scene().sandbox.url}/sandbox/${path}`, method, body)
  const addFault = (fault: object) => control('POST', 'faults', fault)

  const faultMet = (hubId: number) =>
    eventually(`the fault of ${hubId}`, async () => {
      const standing = await getJson<{ hubId?: number }[]>(`${scene().sandbox.url}/sandbox/faults`)
      return standing.every((fault) => fault.hubId !== hubId)
    })

  const requestsOf = (hubId: number) =>
    getJson<JournalEntry[]>(`${scene().sandbox.url}/sandbox/requests?hubId=${hubId}`)
  const refreshesOf = async (hubId: number) =>
    (await requestsOf(hubId)).filter(({ grant }) => grant === 'refresh_token')
  const told = async (): Promise<HookAlert[]> =>
    (await hooksOf(scene().sandbox.url)).flatMap(({ body }) => body.data.alerts)
  const toldOf = async (hubId: number) => (await told()).filter(({ account }) => account?.hubId === hubId)

  const inState = (daemon: Daemon, hubId: number, state: string) =>
    eventually(`${hubId} ${state}`, async () => {
      const account = await accountOf(daemon, hubId)
      return account.state === state && account
    })

  async function statesOf(daemon: Daemon): Promise<Record<string, number>> {
    const { accounts } = await getJson<{ accounts: { byState: Record<string, number> } }>(`${daemon.url}/api/v1/status`)
    return Object.fromEntries(Object.entries(accounts.byState).filter(([, count]) => count > 0))
  }

  /** As often as wanted, each of them. */
  const refreshedSince = (hubIds: readonly number[], since: number, times = 1) =>
    eventually(
      `${times} refreshes of each of ${hubIds.length}`,
      async () => {
        const all = refreshTimes(await journalOf(scene().sandbox.url))
        return hubIds.every((hubId) => (all.get(hubId) ?? []).filter((time) => time > since).length >= times)
      },
      120_000,
    )

  /** Each of them, once since it was connected. */
  const allRefreshed = (hubIds: readonly number[]) =>
    eventually('a refresh of each', async () => {
      const journal = await journalOf(scene().sandbox.url)
      const refreshed = journal.filter(({ grant, status }) => grant === 'refresh_token' && status === 200)
      return hubIds.every((hubId) => refreshed.some((entry) => entry.hubId === hubId))
    })

  return {
    allRefreshed,
    accountOf,
    tokenOf,
    control,
    addFault,
    faultMet,
    requestsOf,
    refreshesOf,
    told,
    toldOf,
    inState,
    statesOf,
    refreshedSince,
  }
}

/** Its own account for each test, so that they may run side by side. */
export function handOut(hubIds: number[]): () => number {
  const left = [...hubIds]
  return () => {
    const hubId = left.shift()
    if (hubId === undefined) throw new Error('more accounts are needed')
    return hubId
  }
}
