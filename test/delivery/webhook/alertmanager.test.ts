import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Alert, Message } from '../../../src/alerts/alert.ts'
import { alertmanagerBody } from '../../../src/delivery/receivers/webhook/alertmanager.ts'
import { aMessage, anAlert, onAccount } from '../example-messages.ts'

const CONTEXT = { receiver: 'ops-hook', home: 'https://plimsoll.example.com/', groupBy: ['rule'] as const }

/** As the Go structs `webhook.Message`, `template.Data` and `template.Alert` of Alertmanager declare it: no field more or less. */
const status = z.enum(['firing', 'resolved'])
const labelName = z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/)
const pairs = z.record(labelName, z.string())
const payload = z.strictObject({
  version: z.literal('4'),
  groupKey: z.string().min(1),
  truncatedAlerts: z.int().min(0),
  status,
  receiver: z.string(),
  groupLabels: pairs,
  commonLabels: pairs,
  commonAnnotations: pairs,
  externalURL: z.url(),
  alerts: z.array(
    z.strictObject({
      status,
      labels: pairs.and(z.looseObject({ alertname: z.string().min(1) })),
      annotations: pairs,
      startsAt: z.iso.datetime({ offset: true }),
      endsAt: z.iso.datetime({ offset: true }),
      generatorURL: z.url(),
      fingerprint: z.string().regex(/^[0-9a-f]{16}$/),
    }),
  ),
})

const ID = '0123456789abcdef'
const resolved = (more: Partial<Alert> = {}) =>
  anAlert({ id: `${ID}-3`, status: 'resolved', reason: 'recovered', measuredAt: '2026-11-21T10:00:00.000Z', ...more })

function parsed(message: Message, groupBy: readonly ('rule' | 'account' | 'level' | 'kind')[] = ['rule']) {
  return payload.parse(JSON.parse(alertmanagerBody(message, { ...CONTEXT, groupBy })))
}

test('a message in which anything fires is firing', () => {
  expect(parsed(aMessage([resolved(), anAlert({ id: `${ID}-1` })])).status).toBe('firing')
})

describe('common labels', () => {
  test('are those that every alert has with the same value, and group labels are among them', () => {
    const alerts = [1, 2].map((hubId) => onAccount(hubId, anAlert())).map((alert) => ({ ...alert, id: `${ID}-1` }))
    const body = parsed(aMessage(alerts), ['rule', 'account', 'level', 'kind'])
    expect(Object.keys(body.commonLabels).sort()).toEqual(['alertname', 'kind', 'series', 'severity'])
    expect(body.groupLabels).toEqual({
      alertname: 'customProperties.overall',
      severity: 'critical',
      kind: 'limit',
    })
    expect(Object.keys(body.commonAnnotations)).toEqual(['description'])
  })

  test('leave out what one alert lacks', () => {
    const { account: _, series: __, ...fleet } = anAlert({ id: `${ID}-1`, kind: 'fleet', rule: 'fleet' })
    const body = parsed(aMessage([anAlert({ id: `${ID}-1` }), fleet]))
    expect(body.commonLabels).toEqual({ severity: 'critical' })
  })

  test('of a digest are no group labels: nothing but being first is common to it', () => {
    expect(parsed(aMessage([anAlert({ id: `${ID}-1` })], { type: 'alert.digest' })).groupLabels).toEqual({})
  })
})

test("strangers' words come clean, and an account without a domain has no such label", () => {
  const account = { hubId: 5, hubDomain: 'evil\u202e\n"}]{{ .Labels }}' }
  const body = parsed(aMessage([anAlert({ id: `${ID}-1`, account })]))
  expect(body.commonLabels.domain).toBe('evil "}]{{ .Labels }}')
  const series = { metric: 'customProperties.objectType', objectTypeId: `2-9\u202e\n${'9'.repeat(99)}` }
  const ofType = parsed(aMessage([anAlert({ id: `${ID}-1`, series })]))
  expect(ofType.commonLabels.objectType).toMatch(/^2-9 9{35}…$/)
  const nameless = parsed(aMessage([anAlert({ id: `${ID}-1`, account: { hubId: 5, hubDomain: '' } })]))
  expect(nameless.commonLabels).not.toHaveProperty('domain')
})

test('what is left out is counted', () => {
  expect(
    parsed(aMessage([anAlert({ id: `${ID}-1` })], { data: { groupKey: 'g', truncated: 7, alerts: [] } })),
  ).toMatchObject({ truncatedAlerts: 7, alerts: [], commonLabels: {}, commonAnnotations: {} })
})
