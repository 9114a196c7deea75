import { expect, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { ADMIN_TOKEN, BEARER, FORM, JSON_BODY, openServer } from './open-server.ts'

const redis = redisOfFile()

test('before the data and the keys are checked, all but probes and what pages load is put off', async () => {
  const { ask, provider } = await openServer(redis, { isStarting: () => true })
  const putOff = [
    await ask('GET', '/oauth/callback?code=a-code&state=a-state'),
    await ask('GET', '/install'),
    await ask('GET', '/acknowledge?a=link'),
    await ask('POST', '/acknowledge', FORM, 'a=link'),
    await ask('GET', '/sign-in'),
    await ask('POST', '/sign-in', FORM, `token=${ADMIN_TOKEN}`),
    await ask('POST', '/accounts/1/poll', { ...BEARER, ...FORM }, ''),
    await ask('GET', '/', BEARER),
    await ask('GET', '/nowhere', BEARER),
    await ask('GET', '/api/v1/accounts', BEARER),
    await ask('GET', '/api/v1/accounts/1/token', BEARER),
    await ask('POST', '/api/v1/accounts/1/poll', { ...BEARER, ...JSON_BODY }, '{}'),
  ]
  for (const { status, headers } of putOff) expect([status, headers['retry-after']]).toEqual([503, '2'])
  expect(provider.codes).toEqual([])
  for (const path of ['/healthz', '/readyz', '/metrics', '/assets/plimsoll.css'])
    expect((await ask('GET', path, BEARER)).status, path).toBe(200)
})
