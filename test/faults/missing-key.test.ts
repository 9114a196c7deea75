import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { SealedFile } from '../../src/tokens/sealed-tokens.ts'
import type { AnswerToStore } from '../../src/tokens/token-store.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { plimsoll, plimsollHere } from '../support/command.ts'
import { ask, connectAll, eventually, getJson, hooksOf, hubIdsOf, refreshTokenFor } from '../support/fleet.ts'
import { type Scene, sceneFor } from '../support/scene.ts'

const KEYS = createKeys('plimsoll')
const K1 = { id: 'k1', key: Buffer.alloc(32, 7).toString('base64') }
const K2 = { id: 'k2', key: Buffer.alloc(32, 8).toString('base64') }
const MISSING = 'no key with the id k1 is configured: add it to encryption.keys'

const withKeys = (...keys: object[]) => ({ encryption: { keys } })

/** An account whose tokens are under k1, in an installation that has forgotten that there ever was such a key. */
async function importUnderForgottenKey(scene: Scene, hubId: number): Promise<void> {
  const line = JSON.stringify({ hubId, refreshToken: await refreshTokenFor(scene.sandbox.url, hubId) })
  writeFileSync(join(scene.folder, 'one.jsonl'), line)
  const file = await scene.configFile(withKeys(K1))
  const { code } = await plimsoll(['accounts', 'import', 'one.jsonl', '--config', file], scene.folder)
  expect(code).toBe(0)
  const store = scene.redis.connect()
  await store.del(KEYS.canaries, KEYS.daemons)
}

/** As a daemon does that stops while Redis is away: older than what is stored. */
function sealUnderForgottenKey(scene: Scene, hubId: number): void {
  const vault = createVault([{ id: 'k1', key: Buffer.alloc(32, 7) }])
  const answer: AnswerToStore = {
    hubId,
    claim: 1.5,
    version: '0',
    access: new Secret('a'),
    refresh: undefined,
    times: { obtainedAt: 1, expiresAt: 2 },
    refreshAt: 2,
    pollAt: 'unchanged',
    alerts: NO_ALERT_WRITES,
  }
  new SealedFile(vault, join(scene.folder, 'data')).write([answer])
}

test('an account whose token no key opens fails as any other does, names the key, and is well once the key is there', async (context) => {
  const scene = await sceneFor(context, { accounts: 2, rotateRefreshTokens: false })
  const [locked = 0, open = 0] = await hubIdsOf(scene.sandbox.url)
  await importUnderForgottenKey(scene, locked)
  sealUnderForgottenKey(scene, locked)
  const daemon = await scene.daemon(withKeys(K2))
  await connectAll(daemon.url, [open])
  const account = (hubId: number) =>
    getJson<{ state: string; refreshFailure: { reason: string } | null }>(`${daemon.url}/api/v1/accounts/${hubId}`)
  const tokenAlert = (status: string) => async () =>
    (await hooksOf(scene.sandbox.url))
      .flatMap(({ body }) => body.data.alerts)
      .find((alert) => alert.kind === 'token' && alert.account?.hubId === locked && alert.status === status)

  await eventually('its failure', async () => (await account(locked)).state === 'failing')
  const line = JSON.parse(await daemon.line(/"token\.unopened".*"state"/, 0))
  expect(line).toMatchObject({ level: 'error', hubId: locked, state: 'failing', msg: MISSING })
  const alert = await eventually('its alert', tokenAlert('firing'))
  expect(alert).toMatchObject({
    level: 'critical',
    message: expect.stringContaining(`${MISSING}). There is no access token.`),
  })

  await eventually('its state in the metrics', async () =>
    (await (await ask(`${daemon.url}/metrics`)).text()).includes('plimsoll_accounts{state="failing"} 1'),
  )
  expect(await account(locked)).toMatchObject({ refreshFailure: { reason: MISSING } })
  expect(await (await ask(`${daemon.url}/accounts/${locked}`)).text()).toContain(MISSING)
  const token = await ask(`${daemon.url}/api/v1/accounts/${locked}/token`)
  expect(token.status).toBe(503)
  const config = await scene.configFile({ ...withKeys(K2), dataDir: join(scene.folder, 'beside') })
  const inAMinute = { ...systemClock, now: () => Date.now() + 61_000 }
  const status = await plimsollHere(['status', '--json', '--config', config], scene.folder, { clock: inAMinute })
  expect(JSON.parse(status.out)).toMatchObject({ accounts: { byState: { failing: 1 } } })
  expect(JSON.parse(status.out).tokens.overdue).toBeGreaterThanOrEqual(1)
  const shown = await plimsollHere(['accounts', 'show', String(locked), '--config', config], scene.folder)
  expect(shown.out).toContain(MISSING)
  expect(await account(open)).toMatchObject({ state: 'active', refreshFailure: null })
  const sealedTokens = async () =>
    (await getJson<{ checks: { name: string; ok: boolean }[] }>(`${daemon.url}/readyz`)).checks.find(
      ({ name }) => name === 'sealed-tokens',
    )
  const detail = `new tokens of account ${locked} wait in dataDir/answers: ${MISSING}`
  expect(await sealedTokens()).toEqual({ name: 'sealed-tokens', ok: false, detail })

  const file = daemon.child.spawnargs.at(-1) as string
  const added = { ...JSON.parse(readFileSync(file, 'utf8')), ...withKeys(K2, K1) }
  writeFileSync(file, JSON.stringify(added))
  daemon.child.kill('SIGHUP')
  await eventually('a refresh', async () => (await account(locked)).state === 'active')
  await eventually('the end of its alert', tokenAlert('resolved'))
  await eventually('tokens sealed anew', async () => (await sealedTokens())?.ok)
  expect(daemon.lines.filter((one) => /"(refresh|poll)\.error"/.test(one))).toEqual([])
})
