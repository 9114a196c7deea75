import { describe, expect, test } from 'vitest'
import { accountJobs } from '../../src/app/account-jobs.ts'
import { headlineOf } from '../../src/delivery/describe/describe-alert.ts'
import { associations, properties } from '../limits/reports.ts'
import { type FakeAnswers, fails, reads } from '../support/fake-provider.ts'
import { EVERY_MS, MINUTE, PAIR, pollsOfFile } from './polled.ts'

const polled = pollsOfFile()

/** As the classes of failures have them: the provider's own JSON, and the page of something in between. */
const OWN_404 = fails('client', { status: 404, message: 'the provider answered 404: no such report' })
const PAGE_404 = fails('transient', {
  status: 404,
  message: 'the provider answered 404: a page of a firewall or proxy',
})
const OWN_403 = fails('forbidden', { status: 403, message: 'the provider answered 403' })

const pipelines = (usage: number) => ({
  hubspotDefinedObjectTypes: [{ objectTypeId: '0-3', singularLabel: 'Deal', pluralLabel: 'Deals', limit: 100, usage }],
})

/** One account whose pipelines are critical. */
async function critical(provider: FakeAnswers = {}) {
  const one = await polled({
    settings: { limits: { reports: ['customProperties', 'pipelines'], soonest: '5m' } },
    rules: [{ on: 'pipelines.*', critical: { percent: 90 } }],
    provider: { report: reads(pipelines(97)), ...provider },
  })
  const sent = async () => (await one.outbox()).map(({ kind, status, reason }) => [kind, status, reason].join(' '))
  await one.poll()
  expect(await sent()).toEqual(['limit firing entered'])
  one.clock.move(EVERY_MS)
  /** A poll with these answers, and time until the next regular one. */
  const pollWith = async (report: FakeAnswers['report'] & {}, ms = EVERY_MS) => {
    one.says.report = report
    await one.poll()
    one.clock.move(ms)
  }
  return { ...one, sent, pollWith }
}

describe('a report that was read before', () => {
  test.each([
    ['the page of a firewall', PAGE_404],
    ["the provider's own 404", OWN_404],
    ["the provider's own 403", OWN_403],
    ['an empty object', reads({})],
  ])('keeps its alert open through one answer of %s, and is read again at the next poll', async (_, odd) => {
    const { pollWith, sent, read, calls, provider } = await critical()
    await pollWith(odd)
    expect(await sent()).toEqual(['limit firing entered'])
    expect(await read()).toMatchObject({ notAvailable: [], pollFailure: { count: 1 }, pollBlocked: null })
    provider.calls.length = 0
    await pollWith(reads(pipelines(98)))
    expect(calls()).toContain('pipelines')
    expect(await read()).toMatchObject({ notAvailable: [], pollFailure: null })
    expect(await sent()).toEqual(['limit firing entered'])
  })

  test("is not available once three polls apart have the provider's own word, and its alert ends as no longer reported", async () => {
    const one = await critical()
    await one.pollWith(OWN_404)
    await one.pollWith(OWN_404)
    expect(await one.read()).toMatchObject({ notAvailable: [] })
    expect(await one.sent()).toEqual(['limit firing entered'])
    await one.pollWith(OWN_404)
    expect(await one.read()).toMatchObject({ notAvailable: ['pipelines'], pollFailure: null })
    expect(await one.sent()).toEqual(['limit firing entered', 'limit resolved recovered'])
    expect((await one.outbox()).at(-1)?.because).toEqual({ is: 'gone' })
  })

  test('is not available by polls that follow each other at once, nor by pages however many, nor by refusals with an answer between', async () => {
    const one = await critical()
    for (let n = 0; n < 5; n++) await one.pollWith(OWN_404, MINUTE / 2)
    for (let n = 0; n < 5; n++) await one.pollWith(PAGE_404)
    await one.pollWith(OWN_404)
    await one.pollWith(reads(pipelines(97)))
    await one.pollWith(OWN_404)
    await one.pollWith(OWN_404)
    expect(await one.read()).toMatchObject({ notAvailable: [] })
    expect((await one.sent()).filter((sent) => sent.startsWith('limit'))).toEqual(['limit firing entered'])
  })

  test('ends the alert about failing polls without the word that limits are read again', async () => {
    const one = await critical()
    for (let n = 0; n < 4; n++) await one.pollWith(fails('transient', { status: 503 }))
    for (let n = 0; n < 3; n++) await one.pollWith(OWN_404)
    const over = (await one.outbox()).findLast(({ kind, status }) => kind === 'poll' && status === 'resolved')
    expect(headlineOf(over as never)).toBe('Polls work again, but pipelines are not available for this account')
  })
})

test('`accounts poll` asks again for a report that is not available, and reads it', async () => {
  const one = await critical()
  for (let n = 0; n < 3; n++) await one.pollWith(OWN_404)
  one.says.report = reads(pipelines(97))
  await one.poll()
  expect(await one.read()).toMatchObject({ notAvailable: ['pipelines'] })
  const jobs = accountJobs(() => one.services, new AbortController().signal)
  expect(await jobs.poll(one.hubId)).toBeUndefined()
  expect(await one.read()).toMatchObject({ notAvailable: [] })
  expect((await one.sent()).at(-1)).toBe('limit firing entered')
})

describe('a scope', () => {
  const scopes = async () => {
    const one = await polled({ settings: { limits: { associations: [PAIR], soonest: '5m' } } })
    await one.poll()
    one.clock.move(EVERY_MS)
    return { ...one, alerts: async () => (await one.outbox()).map(({ cause, status }) => `${cause} ${status}`) }
  }

  test("is missing at once where the provider's answer names it", async () => {
    const one = await scopes()
    one.says.customProperties = fails('forbidden', { status: 403, scopes: ['crm.objects.contacts.read'] })
    await one.poll()
    expect(await one.alerts()).toEqual(['scopes firing'])
  })

  test('is missing only after three polls apart where a refusal names none, and stays so without being asked three times more', async () => {
    const one = await scopes()
    one.says.customProperties = OWN_403
    for (let n = 0; n < 2; n++) {
      await one.poll()
      one.clock.move(EVERY_MS)
      expect(await one.read()).toMatchObject({ pollBlocked: null })
    }
    expect(await one.alerts()).toEqual([])
    for (let n = 0; n < 2; n++) {
      await one.poll()
      one.clock.move(EVERY_MS)
      expect(await one.read()).toMatchObject({ pollBlocked: { what: 'part' }, pollFailure: null })
    }
    expect(await one.alerts()).toEqual(['scopes firing'])
    one.says.customProperties = reads(properties(10))
    await one.poll()
    one.says.customProperties = OWN_403
    await one.poll()
    expect(await one.read()).toMatchObject({ pollBlocked: null })
    expect(await one.alerts()).toEqual(['scopes firing', 'scopes resolved'])
  })
})

describe('pairs of `auto`', () => {
  const full = (objectTypeId: string) => ({ objectTypeId, hasRecordsAtLimit: true, hasRecordsNearLimit: false })
  const names =
    (...types: string[]) =>
    async () => ({ ok: true as const, value: types.map(full) })
  const auto = async () => {
    const one = await polled({
      settings: { limits: { associations: 'auto', soonest: '5m' } },
      rules: [{ on: 'associations.atLimit', critical: { count: 1 } }],
      provider: {
        customProperties: reads(properties(10, 1_000, { '0-1': [1, 10], '0-2': [1, 10] })),
        associationSources: names('0-1'),
        associationTargets: names('0-2'),
        associations: reads(associations(5, [], 1)),
      },
    })
    await one.poll()
    one.clock.move(EVERY_MS)
    return one
  }

  test.each([
    ['a page in between', PAGE_404],
    ["one of the provider's own answers", OWN_404],
  ])('are still told by the companions after %s in their place', async (_, odd) => {
    const one = await auto()
    one.says.associationSources = odd
    await one.poll()
    one.clock.move(EVERY_MS)
    one.provider.calls.length = 0
    await one.poll()
    expect(one.calls()).toContain('associationSources')
  })

  test('have nothing at their limit by no error page', async () => {
    const one = await auto()
    one.says.associationTargets = names('0-2', '0-1')
    one.says.associations = PAGE_404
    await one.poll()
    expect(await one.read()).toMatchObject({ pollFailure: { count: 1 } })
    const readings = (await one.services.polls.loadOne(one.hubId))?.state.readings.all ?? {}
    expect(Object.keys(readings)).not.toContain('associations/0-1/0-1')
  })
})
