import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { plimsoll } from '../../support/command.ts'
import {
  customProperties,
  eventually,
  getJson,
  hooksOf,
  hubIdsOf,
  journalOf,
  mailsOf,
  refreshTokenFor,
  send,
} from '../../support/fleet.ts'
import { say } from '../../support/say.ts'
import { sceneFor } from '../../support/scene.ts'

const ACCOUNTS = 2_000
/** Each tenth is over a threshold. */
const OVER = ACCOUNTS / 10
/** On a machine that does nothing else. */
const WITHIN_MS = 60_000
/** Times and periods as they are where nobody sets them. */
const AS_SHIPPED = {
  schedule: { refreshTokens: '*/10 * * * * *', pollLimits: '*/15 * * * * *' },
  limits: { every: '15m', associations: [{ from: '0-1', to: '0-2' }] },
  alerts: { firstRun: 'digest', group: { by: ['rule'], wait: '30s', interval: '5m' } },
}

interface Status {
  accounts: { newFleet: { read: number; total: number } | null }
  alerts: { critical: number }
}

test('2,000 accounts that are imported have all been read a minute later: whose they are, and both reports', async (context) => {
  const scene = await sceneFor(context, { accounts: ACCOUNTS, tokenLifetimeMs: 1_800_000, rotateRefreshTokens: false })
  const { url } = scene.sandbox
  const rows: string[] = []
  const waiting = await hubIdsOf(url)
  const lane = async () => {
    for (let hubId = waiting.shift(); hubId !== undefined; hubId = waiting.shift()) {
      rows.push(`${hubId},${await refreshTokenFor(url, hubId)}`)
      if (rows.length % 10 !== 0) continue
      await send(`${url}/sandbox/accounts/${hubId}/custom-properties`, 'PUT', customProperties(960))
    }
  }
  await Promise.all(Array.from({ length: 20 }, lane))
  writeFileSync(join(scene.folder, 'fleet.csv'), ['hubId,refreshToken', ...rows].join('\n'))

  const daemon = await scene.daemon(AS_SHIPPED)
  const begunAt = Date.now()
  const config = await scene.configFile(AS_SHIPPED)
  const { out } = await plimsoll(['accounts', 'import', 'fleet.csv', '--config', config], scene.folder)
  const importedAt = Date.now()
  expect(out).toContain('imported 2,000, kept 0, replaced 0, bad 0')

  const status = () => getJson<Status>(`${daemon.url}/api/v1/status`)
  const progress: number[] = []
  const readBy = async () => {
    const { newFleet } = (await status()).accounts
    if (newFleet !== null) expect(newFleet.total).toBe(ACCOUNTS)
    progress.push(newFleet?.read ?? ACCOUNTS)
    return newFleet === null
  }
  await eventually('all of them read', readBy)
  const readAt = Date.now()
  const journal = (await journalOf(url)).filter(({ time }) => Date.parse(time) >= begunAt)
  for (const endpoint of ['metadata', 'customProperties', 'associations']) {
    expect(new Set(journal.flatMap((entry) => (entry.endpoint === endpoint ? [entry.hubId] : []))).size).toBe(ACCOUNTS)
  }
  expect(journal.filter(({ status: is }) => is >= 400)).toEqual([])
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
  expect((await status()).alerts.critical).toBe(OVER)
  say(
    `${ACCOUNTS} accounts were read ${((readAt - importedAt) / 1_000).toFixed(1)} s after their import, ` +
      `which took ${((importedAt - begunAt) / 1_000).toFixed(1)} s`,
  )
  expect(readAt - importedAt).toBeLessThan(WITHIN_MS)

  await eventually(
    'the digest',
    async () => (await mailsOf(url)).length > 0 && (await hooksOf(url)).length > 0,
    120_000,
  )
  const [digest, ...others] = await hooksOf(url)
  expect(digest?.body).toMatchObject({ type: 'alert.digest', data: { truncated: 0, alerts: { length: OVER } } })
  expect([others, (await mailsOf(url)).slice(1)]).toEqual([[], []])
})
