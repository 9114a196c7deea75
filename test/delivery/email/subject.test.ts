import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Alert } from '../../../src/alerts/alert.ts'
import { headlineOf } from '../../../src/delivery/describe/describe-alert.ts'
import { subjectLine } from '../../../src/delivery/describe/subject.ts'
import { aMessage, anAlert, anAtLimitAlert, aTokenAlert, onAccount } from '../example-messages.ts'

const contacts = { metric: 'customProperties.objectType', objectTypeId: '0-1', label: 'Contacts' }
const pair = { from: '0-1', to: '0-2' }
const warning = anAlert({ level: 'warning', percent: 86, usage: 860, remaining: 140 })
const resolved = anAlert({ status: 'resolved', reason: 'recovered', percent: 72, usage: 720 })

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
