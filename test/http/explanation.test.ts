import { expect, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { connectRichAccount } from './in-browser/rich-account.ts'
import { openServer } from './open-server.ts'

const redis = redisOfFile()

const explain = {
  rules: [
    { name: 'others', on: 'customProperties.overall', match: { account: ['1'] }, warning: { percent: 1 } },
    { name: 'sum', line: 31, on: 'customProperties.overall', warning: { percent: 80 } },
    {
      ...{ name: 'customProperties.objectType', on: 'customProperties.objectType', line: 32 },
      ...{ match: { objectType: ['0-*', '2-*'] }, warning: { remaining: 20 } },
    },
  ],
  ...{ recoverBelow: 3, for: 0, repeatEveryMs: 86_400_000, firstRun: 'digest' as const, alertAfter: 1_800_000 },
  routes: [{ to: ['ops-mail'] }],
  group: { by: ['rule' as const], waitMs: 30_000, intervalMs: 300_000, max: 200 },
}

test('the explanation of an account names the line of each rule in the config, and the rules that were passed over', async () => {
  const server = await openServer(redis, { explain })
  await connectRichAccount(server, 4711)
  const { json } = await server.get('/api/v1/accounts/4711/explanation')
  const { series } = json as { series: { rule: { at: string; name: string } | null; passedOver: { at: string }[] }[] }
  const placed = new Map(
    series.flatMap(({ rule, passedOver }) => (rule === null ? [] : [[rule.name, { rule, passedOver }]])),
  )
  expect(placed.get('sum')).toMatchObject({ rule: { at: 'thresholds[1]' }, passedOver: [{ at: 'thresholds[0]' }] })
  expect(placed.get('customProperties.objectType')).toMatchObject({
    rule: { at: 'thresholds[2]', line: 32 },
    passedOver: [],
  })
  const page = await server.get('/accounts/4711')
  const words = page.text.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  expect(words).toContain('sum thresholds line 31')
  expect(words).toContain('custom properties, object types 0-* or 2-* thresholds line 32')
})
