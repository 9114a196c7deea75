import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Alert, Message } from '../../../src/alerts/alert.ts'
import { headlineOf } from '../../../src/delivery/describe/describe-alert.ts'
import { subjectLine } from '../../../src/delivery/describe/subject.ts'
import { aMessage, anAlert, anAtLimitAlert, aTokenAlert, onAccount } from '../example-messages.ts'

const contacts = { metric: 'customProperties.objectType', objectTypeId: '0-1', label: 'Contacts' }
const pair = { from: '0-1', to: '0-2' }
const warning = anAlert({ level: 'warning', percent: 86, usage: 860, remaining: 140 })
const resolved = anAlert({ status: 'resolved', reason: 'recovered', percent: 72, usage: 720 })

function without(alert: Alert, ...fields: (keyof Alert)[]): Alert {
  const copy = { ...alert }
  for (const field of fields) delete copy[field]
  return copy
}

describe('the subject of', () => {
  test.each<[string, Message, string]>([
    ['a critical alert', aMessage(), '[CRITICAL] acme.example.com (123): Custom properties 96 %'],
    ['a warning', aMessage([warning]), '[WARNING] acme.example.com (123): Custom properties 86 %'],
    [
      'a resolved alert',
      aMessage([resolved], { type: 'alert.resolved' }),
      '[RESOLVED] acme.example.com (123): Custom properties 72 % after 25 h',
    ],
    [
      'a message of which newer ones took over all that it showed',
      { ...aMessage(), data: { groupKey: 'rule=r', truncated: 3, alerts: [] } },
      '[WARNING] 3 more alerts',
    ],
    [
      'an object type',
      aMessage([anAlert({ series: contacts, percent: 99.96, limit: 12_500 })]),
      '[CRITICAL] acme.example.com (123): Contacts, custom properties 99.9 %',
    ],
    [
      'an object type without a label',
      aMessage([anAlert({ series: { metric: 'customProperties.objectType', objectTypeId: '2-77' } })]),
      '[CRITICAL] acme.example.com (123): 2-77, custom properties 96 %',
    ],
    [
      'records at their limit',
      aMessage([anAtLimitAlert({ usage: 1212 })]),
      '[CRITICAL] acme.example.com (123): 1,212 contacts have the maximum of companies',
    ],
    [
      'one record near its limit',
      aMessage([anAtLimitAlert({ usage: 1, series: { metric: 'associations.nearLimit', ...pair } })]),
      '[CRITICAL] acme.example.com (123): 1 contact is close to the maximum of companies',
    ],
    [
      'the fullest record',
      aMessage([anAlert({ series: { metric: 'associations.fullest', ...pair }, percent: 92.34, limit: 10_000 })]),
      '[CRITICAL] acme.example.com (123): Companies per contact 92.3 %',
    ],
    [
      'an alert for the days that are left',
      aMessage([anAlert({ percent: 70, usage: 700, daysLeft: 5.26, threshold: { percent: 95, daysLeft: 7 } })]),
      '[CRITICAL] acme.example.com (123): Custom properties full in 5 days, 70 % used',
    ],
    [
      'an alert for the days that are left, of which there are none',
      aMessage([anAlert({ percent: 100, usage: 1000, daysLeft: 0, threshold: { daysLeft: 7 } })]),
      '[CRITICAL] acme.example.com (123): Custom properties 100 %',
    ],
    [
      'a usage whose limit is not known',
      aMessage([without(anAlert(), 'limit', 'percent', 'remaining')]),
      '[CRITICAL] acme.example.com (123): Custom properties 960',
    ],
    ['a token that is lost', aMessage([aTokenAlert()]), '[CRITICAL] acme.example.com (123): Customer must reconnect'],
    [
      'a token that may yet be saved',
      aMessage([aTokenAlert({ cause: 'failing' })]),
      "[CRITICAL] acme.example.com (123): Tokens can't be refreshed",
    ],
    [
      'an uninstall that hangs',
      aMessage([aTokenAlert({ level: 'warning', rule: 'uninstall' })]),
      '[WARNING] acme.example.com (123): Uninstall not finished: token not deleted',
    ],
    [
      'an account that left',
      aMessage([anAlert({ status: 'resolved', reason: 'uninstalled' })], { type: 'alert.resolved' }),
      '[RESOLVED] acme.example.com (123): App uninstalled, alert closed after 25 h',
    ],
    [
      'an account that is not read',
      aMessage([
        aTokenAlert({
          kind: 'poll',
          level: 'warning',
          cause: 'failing',
          message:
            "Association limits can't be read (HubSpot has answered 502 since 13:36). Custom property limits are up to date.",
        }),
      ]),
      "[WARNING] acme.example.com (123): Association limits can't be read",
    ],
    [
      'an account whose scope is missing',
      aMessage([aTokenAlert({ kind: 'poll', level: 'warning', cause: 'scopes' })]),
      '[WARNING] acme.example.com (123): Missing permission to read limits',
    ],
    [
      'a fleet alert',
      aMessage([
        without(aTokenAlert({ kind: 'fleet', message: 'The client secret is refused. Check it.' }), 'account'),
      ]),
      '[CRITICAL] The client secret is refused',
    ],
    [
      'a fleet alert without a word',
      aMessage([without(aTokenAlert({ kind: 'fleet' }), 'account', 'message')]),
      "[CRITICAL] HubSpot can't be reached",
    ],
    [
      'a test',
      aMessage([without(aTokenAlert({ kind: 'test', reason: 'test' }), 'account', 'message')], { type: 'alert.test' }),
      '[TEST] This receiver works',
    ],
    [
      'three accounts',
      aMessage([onAccount(7, warning), anAlert(), onAccount(8, warning)]),
      '[CRITICAL] 1 of 3 accounts: custom properties 96 %, worst acme.example.com',
    ],
    [
      'three accounts and more that are not shown',
      aMessage([onAccount(7, warning), anAlert(), onAccount(8, warning)], { truncated: 1500 }),
      '[CRITICAL] 1,503 alerts: custom properties 96 %, worst acme.example.com',
    ],
    [
      'two accounts with different troubles, without room to name the others',
      aMessage([onAccount(7, warning), aTokenAlert()]),
      '[CRITICAL] 1 of 2 accounts: Customer must reconnect, e.g. acme.example.com',
    ],
    [
      'six accounts with full associations',
      aMessage(Array.from({ length: 6 }, (_, n) => onAccount(n, anAtLimitAlert(), `acme-0${n}.example.com`))),
      '[CRITICAL] 6 accounts: association limit full, worst acme-00.example.com',
    ],
    [
      'three accounts that are well again',
      aMessage(
        [1, 2, 3].map((hubId) => onAccount(hubId, resolved)),
        { type: 'alert.resolved' },
      ),
      '[RESOLVED] 3 accounts: custom properties back to normal',
    ],
    [
      'a trouble of all accounts',
      aMessage([
        without(
          aTokenAlert({
            kind: 'fleet',
            message: "All 24 accounts: tokens can't be refreshed (client secret rejected). X",
          }),
          'account',
        ),
      ]),
      "[CRITICAL] All 24 accounts: tokens can't be refreshed (client secret rejected)",
    ],
    [
      'a group in which the worst is over',
      aMessage([resolved, onAccount(7, warning)]),
      '[WARNING] 1 of 2 accounts: custom properties 86 %, worst account-7.example.com',
    ],
    [
      'a digest',
      aMessage(
        Array.from({ length: 13 }, (_, index) => onAccount(index, index < 3 ? anAlert() : warning)),
        { type: 'alert.digest' },
      ),
      '[DIGEST] First readings: 3 critical, 10 warnings in 13 accounts',
    ],
    [
      'a digest in which accounts have several alerts',
      aMessage([anAlert(), anAtLimitAlert({ level: 'warning' })], { type: 'alert.digest', truncated: 40 }),
      '[DIGEST] First readings: 1 critical, 1 warning, 40 more in 1 account',
    ],
  ])('%s', (_name, message, expected) => {
    expect(subjectLine(message)).toBe(expected)
  })
})

test('no subject has more than 60 characters beside the names of account and object type, and none is cut inside a word that has room', () => {
  const some = fc.constantFrom(
    anAlert(),
    warning,
    resolved,
    anAtLimitAlert({ usage: 123_456 }),
    anAlert({ series: { ...contacts, label: 'Internationalisierungsbeauftragte of Subsidiaries' }, percent: 99.9 }),
    anAlert({ series: { metric: 'associations.fullest', ...pair }, percent: 92.34, limit: 10_000 }),
    aTokenAlert(),
    aTokenAlert({ cause: 'failing' }),
    aTokenAlert({ level: 'warning', rule: 'uninstall' }),
    aTokenAlert({ kind: 'poll', level: 'warning', cause: 'scopes' }),
    anAlert({ kind: 'limit-changed', limit: 12_000 }),
  )
  const alerts = fc.array(some, { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(alerts, fc.constantFrom(0, 0, 12_345), fc.boolean(), (found, truncated, isOneAccount) => {
      const own = found.map((alert, n) => onAccount(isOneAccount ? 1 : n + 1, alert, 'name'))
      const subject = subjectLine(aMessage(own, { truncated }))
      const others = subject
        .replace(/name( \(\d+\))?/, '')
        .replace(/: Inter.*, custom|contacts have the maximum of companies/, '')
      expect(others.length).toBeLessThanOrEqual(60)
      const words =
        subject
          .split('…')[0]
          ?.split(/ |: |, /)
          .at(-1) ?? ''
      if (subject.includes('…'))
        expect(
          found.flatMap(wordsAbout).some((word) => word === words || isLongWord(word, words)),
          subject,
        ).toBe(true)
    }),
  )
})

/** A word that has no room by itself is the only one that is cut inside. */
const isLongWord = (word: string, cut: string) => word.length >= 14 && word.startsWith(cut)

/** All that a subject may be cut behind. */
function wordsAbout(alert: Alert): string[] {
  return `${headlineOf(alert)} the limit`.split(/ |: |, /)
}

describe('what strangers put in', () => {
  const called = (hubDomain: string) => subjectLine(aMessage([anAlert({ account: { hubId: 1, hubDomain } })]))

  test('breaks no line and hides nothing', () => {
    expect(called('a\r\nBcc: b\u0000\u202ec\u2066d\u200b')).toBe('[CRITICAL] a Bcc: b cd (1): Custom properties 96 %')
  })

  test('is no encoded word that a mail program would decode', () => {
    for (const trick of ['=?utf-8?q?=0d=0aBcc:x?=', '=\u200b?utf-8?q?x?=', '==??utf-8?b?eA==?=']) {
      expect(called(trick)).not.toContain('=?')
    }
  })

  test('keeps its emoji', () => {
    expect(called('👩‍🚀 & <b>')).toBe('[CRITICAL] 👩‍🚀 & <b> (1): Custom properties 96 %')
  })

  test('can not make it long, nor push the count of accounts out', () => {
    const long = '👩‍🚀x'.repeat(5000)
    const series = { ...contacts, label: long }
    const alerts = [anAlert({ series }), onAccount(7, anAlert({ series }), long), onAccount(8, warning, long)]
    for (const message of [aMessage(alerts), aMessage(alerts.slice(0, 2)), aMessage(alerts.slice(1, 2))]) {
      const subject = subjectLine(message)
      expect(Array.from(subject).length).toBeLessThanOrEqual(180)
      expect(subject.isWellFormed()).toBe(true)
    }
    expect(subjectLine(aMessage(alerts))).toMatch(/^\[CRITICAL\] 2 of 3 accounts: custom properties 96 %, worst /)
  })
})
