import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { acknowledgeState } from '../../../src/alerts/acknowledge.ts'
import type { AlertLevel } from '../../../src/alerts/alert.ts'
import { encodeState } from '../../../src/alerts/alert-state.ts'
import { decideAlerts } from '../../../src/alerts/evaluation/decide.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'
import { deliveryAnnouncer } from '../../../src/alerts/kinds/delivery-alert.ts'
import { fleetAnnouncer } from '../../../src/alerts/kinds/fleet-alert.ts'
import { closeAlert, closeAlerts, notifyAlert } from '../../../src/alerts/kinds/notified-alert.ts'
import {
  type AttemptedAccount,
  grantAnnouncer,
  pollAnnouncer,
  unreadableAnnouncer,
} from '../../../src/alerts/kinds/poll-alert.ts'
import { tokenAnnouncer } from '../../../src/alerts/kinds/token-alert.ts'
import { decodeEntry } from '../../../src/alerts/outbox.ts'
import type { PollOutcome } from '../../../src/limits/polling/poll-outcome.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import type { ProviderFailure } from '../../../src/provider/failure.ts'
import type { AlertWrites } from '../../../src/redis/steps.ts'
import { associations, properties, readings } from '../../limits/reports.ts'
import { stateIn } from '../../support/state-in.ts'

/** What each kind of alert says of what happens: PLIMSOLL_WRITE=1 writes the file again, and what changes there is read like code. */
const FILE = new URL('kinds.txt', import.meta.url)

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const HOUR = 3_600_000
const DAY = 24 * HOUR
const ACCOUNT = { hubId: 123, hubDomain: 'acme.example.com' }
const pageOf = (hubId: number) => `https://plimsoll.example.com/accounts/${hubId}`

type Step = (stored: string, now: number) => AlertWrites

/** One alert, step by step on the state that the step before left: a line for each step, and its message below. */
class Story {
  readonly lines: string[] = []
  stored = ''
  now = NOW
  readonly #ids: string[] = []

  does(what: string, step: Step, afterMs = 0): this {
    this.now += afterMs
    const { changes, entries } = step(this.stored, this.now)
    for (const [, before, after] of changes) {
      expect(before).toBe(this.stored)
      this.stored = after
    }
    if (entries.length === 0) this.lines.push(`${what}: nothing`)
    for (const entry of entries) this.lines.push(...this.#told(what, entry))
    return this
  }

  acknowledged(forMs: number): this {
    const acknowledged = { by: 'ana', at: this.now, until: this.now + forMs }
    this.stored = encodeState(acknowledgeState(stateIn(this.stored), acknowledged))
    this.lines.push(`acknowledged for ${forMs / DAY} days`)
    return this
  }

  #told(what: string, entry: string): string[] {
    const { alert, ...way } = decodeEntry(entry)
    const { id, kind, status, level, reason, message = '', measuredAt, since, url, account, ...more } = alert
    const [own = '', number] = id.split('-')
    if (!this.#ids.includes(own)) this.#ids.push(own)
    expect(own).toMatch(/^[0-9a-f]{16}$/)
    expect(measuredAt).toBe(new Date(this.now).toISOString())
    const { acknowledged, wasAtBoth } = this.stored === '' ? {} : stateIn(this.stored)
    const state = `${wasAtBoth ? ', was at both levels' : ''}${acknowledged ? ', still acknowledged' : ''}`
    const place = `${account === undefined ? 'no account' : `${account.hubDomain} ${account.hubId}`}, ${url}`
    const words = `${kind} ${status} ${level} ${reason}, since ${since}, ${place}${state}`
    const rest = JSON.stringify({ ...more, ...way })
    return [`${what}: ${this.#ids.indexOf(own) + 1}.${number} ${words}, ${rest}`, ...(message && [`  ${message}`])]
  }
}

const STORIES: Record<string, Story> = {}
function story(name: string): Story {
  const made = new Story()
  STORIES[name] = made
  return made
}

const subject = (stored: string, now: number) => ({ field: 'token', account: ACCOUNT, url: pageOf(123), stored, now })
const fails =
  (level: AlertLevel, more: object = {}): Step =>
  (...at) =>
    notifyAlert(subject(...at), { level, message: 'It fails.', ...more })
const works: Step = (...at) => closeAlert(subject(...at), 'It works.')

story('an alert that is not about a number')
  .does('warns', fails('warning'))
  .does('warns again', fails('warning'), 1)
  .does('gets worse', fails('critical'), 1)
  .does('gets better', fails('warning'), 1)
  .does('ends', works, 1)
  .does('ends again', works, 1)
story('one of one level, whose account is uninstalled')
  .does('warns', fails('warning'))
  .does('is uninstalled', (stored, now) => closeAlerts(pageOf, ACCOUNT, { token: stored }, now))
story('one of both levels, whose account is uninstalled')
  .does('is critical', fails('critical'))
  .does('gets better', fails('warning'))
  .does('warns again', fails('warning'))
  .does('is uninstalled', (stored, now) => closeAlerts(pageOf, ACCOUNT, { token: stored }, now))
story('one with a rule and a cause')
  .does('warns', fails('warning', { rule: 'uninstall', cause: 'scopes' }))
  .does('gets worse for another cause', fails('critical', { rule: 'other', cause: 'failing' }), 1)
  .does('has none', fails('critical'), 1)
  .does('ends', works, 1)

const fleet = fleetAnnouncer({ repeatEveryMs: DAY, page: 'https://plimsoll.example.com/' })
const lostData = (is: 'firing' | 'over') => (stored: string, now: number) =>
  fleet({ trouble: 'data', is, stored, message: 'It is lost.', now })
story('an alert about all accounts')
  .does('fires', lostData('firing'))
  .does('fires almost a day later', lostData('firing'), DAY - 1)
  .does('fires a day later', lostData('firing'), 1)
  .acknowledged(2 * DAY)
  .does('fires after a day', lostData('firing'), DAY)
  .does('fires after both', lostData('firing'), DAY)
  .acknowledged(9 * DAY)
  .does('ends', lostData('over'), DAY)
story('an alert about the token endpoint').does('fires', (stored, now) =>
  fleet({
    trouble: 'token-endpoint',
    is: 'firing',
    level: 'warning',
    stored,
    message: 'x.',
    now,
    cause: 'credentials',
  }),
)

const delivery = deliveryAnnouncer({ repeatEveryMs: DAY, page: 'https://plimsoll.example.com/deliveries' })
const receiver = (level: AlertLevel | undefined) => (stored: string, now: number) =>
  delivery('ops', stored, level ? { is: 'firing', level, message: 'x.' } : { is: 'over', message: 'y.' }, now)
story('an alert about a receiver')
  .does('is critical', receiver('critical'))
  .acknowledged(9 * DAY)
  .does('gets better', receiver('warning'), DAY)
  .does('lasts', receiver('warning'), 2 * DAY)
  .does('gets worse', receiver('critical'), DAY)
  .does('lasts', receiver('critical'), DAY)
  .does('ends', receiver(undefined))

const scopes = ['oauth', 'crm.objects.contacts.read', 'tickets', 'a', 'b']
const granted = (opensLimits: boolean, asked = scopes) => {
  const announce = grantAnnouncer({ pageOf, scopes: asked })
  const given = ['oauth', ...(opensLimits ? ['tickets'] : [])]
  return (pollAlert: string, now: number) => announce({ ...ACCOUNT, scopes: given, opensLimits, pollAlert, now })
}
const failure = (more: Partial<ProviderFailure> = {}): ProviderFailure => ({
  class: 'transient',
  code: '503',
  message: 'the provider answered 503',
  status: 503,
  ...more,
})
const READ: PollOutcome = { readAnything: true, readAll: true, failures: [], refused: undefined, lacking: [] }
const FAILED: PollOutcome = { ...READ, readAnything: false, readAll: false, failures: [failure()] }
const UNAUTHORIZED = {
  ...FAILED,
  failures: [failure({ class: 'unauthorized', message: 'the provider answered 401' })],
}
const PAIRS = { ...READ, readAll: false, refused: { what: ['associations' as const], scopes: [] } }
const REFUSED: PollOutcome = {
  ...PAIRS,
  readAnything: false,
  refused: { what: ['custom properties', 'associations'], scopes: ['contacts'] },
}
/** A poll behind 7 that failed, the first of them an hour ago: that is for long. */
function polled(outcome: PollOutcome, more: Partial<AttemptedAccount> = {}, opensLimits = true) {
  const announce = pollAnnouncer({ pageOf, scopes, opensLimits, repeatEveryMs: DAY })
  return (pollAlert: string, now: number) =>
    announce({
      ...ACCOUNT,
      outcome,
      pollAlert,
      isFleetTrouble: false,
      now,
      failsForLong: outcome.failures.length > 0,
      failing: { count: 7, reason: 'it failed', at: now - 1, since: NOW - HOUR },
      blocked: undefined,
      ...more,
    })
}
const shortly = { failsForLong: false }
const unreadable: Step = (pollAlert, now) =>
  unreadableAnnouncer({ pageOf })({ ...ACCOUNT, pollAlert, now }, 'Its readings.')

story('scopes that do not let limits be read')
  .does('are granted', granted(false))
  .does('are granted again', granted(false))
  .does('are found by polls', polled(REFUSED), 30 * DAY)
  .does('do now', granted(true), 1)
  .does('do again', granted(true), 1)
story('scopes that the app does not ask for')
  .does('are granted', granted(false, ['oauth']))
  .does('are found by polls, shortly behind', polled(FAILED, shortly))
story('polls that lack a scope')
  .does('say so', polled(REFUSED))
  .does('say so a month later', polled(REFUSED), 30 * DAY)
  .does('only fail', polled(FAILED, shortly))
  .does('read all', polled({ ...READ, lacking: ['pipelines', 'records'] }), 1)
story('polls that lack a scope in part').does('say so', polled(PAIRS))
story('polls that lack a scope that the app does not ask for').does('say so', polled(PAIRS, {}, false))
story('polls that fail')
  .does('for a while', polled(FAILED, shortly))
  .does('while the alert about all accounts speaks', polled(FAILED, { isFleetTrouble: true }))
  .does('for long', polled(FAILED))
  .does('while new scopes come', granted(true))
  .does('and lacking scopes', granted(false))
  .does('for almost a day more', polled(FAILED), DAY - 1)
  .does('for a day', polled(FAILED), 1)
  .acknowledged(7 * DAY)
  .does('for six more', polled(FAILED), 6 * DAY)
  .does('for seven', polled(FAILED), DAY)
  .acknowledged(7 * DAY)
  .does('and then lack a scope', polled(REFUSED), DAY)
  .does('and then fail again', polled({ ...REFUSED, failures: [failure()] }), 1)
  .does('a day later, while the alert about all accounts speaks', polled(FAILED, { isFleetTrouble: true }), 2 * DAY)
  .does('and work then', polled(READ, { isFleetTrouble: true }))
  .does('and work on', polled(READ))
for (const [unread, read] of [
  [['associations'], ['customProperties']],
  [['associations'], ['customProperties', 'associations', 'pipelines']],
  [['associations'], ['associations']],
  [[], ['associations']],
] as [string[], string[]][])
  story(`polls that do not read ${unread}, and read ${read}`).does(
    'fail',
    polled({ ...FAILED, readAnything: true, partly: { unread, read } }),
  )
for (const [what, refreshes] of Object.entries({
  'no refresh': undefined,
  'a refresh before': { at: NOW - 2 * DAY, failure: undefined },
  'a refresh that works': { at: NOW - 60_000, failure: undefined },
  'a refused one': { at: NOW, failure: { class: 'rejected', reason: 'the provider answered 400: BAD_REFRESH_TOKEN' } },
  'one that may work later': { at: 0, failure: { class: 'transient', reason: 'the provider answered 503' } },
} satisfies Record<string, AttemptedAccount['refreshes']>))
  story(`polls whose access token is refused, after ${what}`).does(
    'fail',
    polled(UNAUTHORIZED, refreshes && { refreshes }),
  )
story('polls that fail, then are refused, then fail')
  .does('fail', polled(FAILED))
  .does('are refused', polled({ ...FAILED, failures: [failure({ class: 'rejected' })] }), 1)
  .does('fail', polled({ ...FAILED, failures: [failure({ class: 'client' })] }), 1)
story('requests that are refused').does('fail', polled({ ...FAILED, failures: [failure({ class: 'client' })] }))
story('what can not be read of an account')
  .does('is put aside', unreadable)
  .does('is put aside again', unreadable)
  .does('is read', polled(READ), 1)

const tokens = tokenAnnouncer({ pageOf })
const account = { ...ACCOUNT, refreshedAt: NOW - 60_000, expiresAt: NOW, interruptedAt: null as number | null }
const at = (tokenAlert: string, now: number, more: object = {}) => ({ ...account, ...more, tokenAlert, now })
const failing: Step = (...to) => tokens.failing(at(...to), 'the provider answered 503')
const refused =
  (more: object = {}, message = 'the provider answered 400', isElsewhere = false): Step =>
  (stored, now) =>
    tokens.reauthorize(at(stored, now, more), { message, isElsewhere })
const recovered: Step = (...to) => tokens.recovered(at(...to))
const undeleted: Step = (...to) => tokens.undeleted(at(...to), { askedAt: NOW - HOUR, reason: 'HTTP 503' })

story('a refresh that fails')
  .does('fails for long', failing)
  .does('fails on', failing, 1)
  .does('is refused', refused(), 1)
  .does('is refused again', refused(), 1)
  .does('works', recovered, 1)
  .does('works on', recovered, 1)
story('a refresh that fails without an access token').does('fails', (stored, now) =>
  tokens.failing(at(stored, now, { expiresAt: 0, refreshedAt: 0 }), 'x'),
)
story('one with a token that lasts').does('fails', (stored, now) =>
  tokens.failing(at(stored, now, { expiresAt: NOW + HOUR }), 'x'),
)
story('a refresh that broke off').does('is refused', refused({ interruptedAt: NOW - 60_000 }))
story('an account elsewhere').does('is refused', refused({}, 'the account is in data center eu1: connect it', true))
story('the token of another account')
  .does('is imported', (...to) => tokens.foreign(at(...to), 7))
  .does('is imported again', (...to) => tokens.foreign(at(...to), 7))
  .does('is refused', refused())
story('an answer that can not be read')
  .does('comes', (...to) => tokens.unreadable(at(...to), 'the answer has no refresh token'))
  .does('comes again', (...to) => tokens.unreadable(at(...to), 'x'))
  .does('is refused', refused(), 1)
story('an uninstall whose token is not deleted')
  .does('is tried', undeleted)
  .does('is tried again', undeleted)
  .does('is done', (...to) => tokens.deleted(at(...to)), 1)
  .does('is done again', (...to) => tokens.deleted(at(...to)), 1)
story('an uninstall of an account that is connected again').does('is tried', undeleted).does('is connected', recovered)

const RULES: Rule[] = [
  { name: 'quiet', on: '*', match: { objectType: ['2-9'] }, off: true },
  { name: 'overall', on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } },
]
/** What the readings before and after a poll come to. */
const limits = (before: Readings | undefined, after: Readings, rules = RULES) => {
  const settings = { rules, recoverBelow: 3, for: 0, repeatEveryMs: DAY, firstRun: 'alert' as const, pageOf }
  return (_: string, now: number): AlertWrites => {
    const { entries } = decideAlerts(settings, { ...ACCOUNT, before, after, samples: {}, states: {} }, now)
    return { changes: [], entries }
  }
}
const BEFORE = NOW - 900_000
const overall = (when: number, usage: number, limit: number) => readings(when, properties(usage, limit))
const ofTypes = (when: number, limit: number, types: Record<string, [number, number]>) =>
  readings(when, properties(1, limit, types))
const ofPair = (when: number, limit: number) =>
  readings(when, properties(1, 100), { '0-1/0-2': associations(limit), '0-2/0-1': associations(20) })
const moved = (match?: Rule['match']) =>
  limits(ofTypes(BEFORE, 10, { '0-1': [1, 10] }), ofTypes(NOW, 20, { '0-1': [1, 20] }), [
    { name: 'moved', on: 'limit-changed', off: true, match },
  ])

story('a limit that moves')
  .does('down', limits(overall(BEFORE, 300, 1_000), overall(NOW, 310, 500)))
  .does('up', limits(overall(BEFORE, 300, 500), overall(NOW, 300, 1_000)))
  .does(
    'down again, later',
    (stored, now) => limits(overall(BEFORE, 300, 1_000), overall(now, 310, 500))(stored, now),
    1,
  )
story('a limit that moves into a level').does('down', limits(overall(BEFORE, 480, 1_000), overall(NOW, 480, 500)))
story('a limit of one of two types').does(
  'up',
  limits(ofTypes(BEFORE, 9, { '0-1': [1, 10], '0-2': [1, 10] }), ofTypes(NOW, 9, { '0-1': [1, 10], '0-2': [1, 30] })),
)
story('a limit of one of two directions').does('up', limits(ofPair(BEFORE, 400), ofPair(NOW, 500)))
story('a limit that may move unseen')
  .does('everywhere', moved())
  .does('of a type', moved({ objectType: ['0-1'] }))
  .does('of another account', moved({ account: ['99'] }))
story('no limit that moves')
  .does('to none', limits(ofTypes(BEFORE, 9, { '0-1': [1, 9] }), ofTypes(NOW, 0, { '0-1': [1, 0] })))
  .does('from none', limits(ofTypes(BEFORE, 0, { '0-1': [1, 0] }), ofTypes(NOW, 9, { '0-1': [1, 9] })))
  .does('at a first reading', limits(undefined, overall(NOW, 1, 100)))
  .does(
    'of a series that is off, or new',
    limits(ofTypes(BEFORE, 9, { '2-9': [1, 10] }), ofTypes(NOW, 9, { '2-9': [1, 20], '0-1': [1, 5] })),
  )
  .does('that was not read now', limits(overall(BEFORE, 1, 10), overall(BEFORE, 1, 20)))
  .does('of a pair that had none', limits(ofPair(BEFORE, 0), ofPair(NOW, 500)))
  .does('where usage did', limits(overall(BEFORE, 1, 10), overall(NOW, 3, 10)))

test('each kind of alert says what is written down of what happens, and nothing where that is no news', () => {
  const text = Object.entries(STORIES)
    .flatMap(([name, { lines }]) => [`# ${name}`, ...lines, ''])
    .join('\n')
  if (process.env.PLIMSOLL_WRITE === '1') writeFileSync(FILE, text)
  expect(text.split('\n')).toEqual(readFileSync(FILE, 'utf8').split('\n'))
  // Mails cut a longer one.
  for (const line of text.split('\n')) if (line.startsWith('  ')) expect(line.length).toBeLessThanOrEqual(602)
})
