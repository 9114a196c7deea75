import { expect, test } from 'vitest'
import { acknowledgeAlert, findAlert } from '../../../src/alerts/acknowledge.ts'
import { alertId, decodeState, encodeState, openedState } from '../../../src/alerts/alert-state.ts'
import { redisOfFile } from '../../support/of-file.ts'

const redis = redisOfFile()

/** More accounts than are read at once, each with one alert. */
const ACCOUNTS = 1_201

async function fleet() {
  const keys = redis.freshKeys()
  const hubIds = Array.from({ length: ACCOUNTS }, (_, n) => n + 1)
  await Promise.all(
    hubIds.map((hubId) =>
      redis.store.hset(keys.account(hubId).alerts, 'token', encodeState(openedState('warning', 'token', 5))),
    ),
  )
  return {
    store: redis.store,
    keys,
    registry: { alerting: async () => hubIds },
    idOf: (hubId: number) => alertId(hubId, 'token', 5),
  }
}

test('an alert of any account is found by its id, with the number of a transition or without', async () => {
  const { idOf, ...deps } = await fleet()
  for (const hubId of [1, 600, ACCOUNTS]) {
    for (const text of [idOf(hubId), `${idOf(hubId)}-2`, ` ${idOf(hubId).toUpperCase()} `]) {
      expect(await findAlert(deps, text)).toMatchObject({ is: 'found', alert: { hubId, field: 'token' } })
    }
  }
})

test('a beginning that several share names them all', async () => {
  const keys = redis.freshKeys()
  const [one, other] = sharedBeginning()
  for (const { hubId, since } of [one, other]) {
    await redis.store.hset(keys.account(hubId).alerts, 'token', encodeState(openedState('warning', 'token', since)))
  }
  const registry = { alerting: async () => [1, 2] }
  const ids = [one.id, other.id]
  expect(await findAlert({ store: redis.store, keys, registry }, one.id.slice(0, 6))).toEqual({
    is: 'several',
    ids: ids.sort(),
  })
  expect(await findAlert({ store: redis.store, keys, registry }, one.id)).toMatchObject({ alert: { id: one.id } })
})

/** Alerts of two accounts whose ids begin alike: among some thousands there are such. */
function sharedBeginning() {
  const ofFirst = new Map<string, { hubId: number; since: number; id: string }>()
  for (let since = 1; ; since++) {
    const [one, other] = [1, 2].map((hubId) => ({ hubId, since, id: alertId(hubId, 'token', since) }))
    if (one === undefined || other === undefined) throw new Error('two accounts')
    ofFirst.set(one.id.slice(0, 6), one)
    const before = ofFirst.get(other.id.slice(0, 6))
    if (before !== undefined) return [before, other] as const
  }
}

test('what is closed, or no id at all, is not found', async () => {
  const { idOf, ...deps } = await fleet()
  expect(await findAlert(deps, alertId(1, 'token', 6))).toEqual({ is: 'unknown' })
  expect(idOf(1)).toMatch(/^[0-9a-f]{16}$/)
  for (const text of ['', 'abcde', 'nothing-2', `${idOf(1)}00`, `${idOf(1)}-x`]) {
    expect(await findAlert(deps, text)).toEqual({ is: 'no-id' })
  }
})

test('an alert that others change at the same time is acknowledged all the same, and nothing of theirs is lost', async () => {
  const { store, keys, idOf } = await fleet()
  const { alerts } = keys.account(7)
  const deps = { store, keys, acknowledgeForMs: 1_000 }
  const seen = { id: idOf(7), hubId: 7, level: 'warning' as const }
  const [outcome] = await Promise.all([
    acknowledgeAlert(deps, seen, { by: 'ann' }, 100),
    ...[2, 3, 4, 5].map((transitions) =>
      store.hset(alerts, 'token', encodeState({ ...openedState('warning', 'token', 5), transitions })),
    ),
  ])
  expect(outcome).toMatchObject({ is: 'acknowledged', acknowledged: { by: 'ann', at: 100, until: 1_100 } })
  const state = decodeState((await store.hget(alerts, 'token')) ?? '')
  expect(state).toMatchObject({ transitions: 5, acknowledged: { by: 'ann' } })
})
