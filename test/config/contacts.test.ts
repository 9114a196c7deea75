import { expect, test } from 'vitest'
import { installerMails, routingSettings } from '../../src/app/settings.ts'
import { configOf, noticesOf, problemsOf, SMALLEST } from './load-text.ts'

const owner = (more = '') =>
  `  owner: { type: email, smtp: "smtps://mail.example.com", from: app@example.com, to: account${more} }\n`
/** The smallest file with a receiver of contacts, and a route to it before the one that takes the rest. */
const withOwner = (more = '') => SMALLEST.replace('routes:\n', `${owner(more)}routes:\n  - to: [owner]\n`)

test('a receiver of contacts takes what its route matches of accounts that have one, so a route below is no mistake', () => {
  const { routes, group } = routingSettings(configOf(withOwner()))
  expect(group.contacts).toEqual(['owner'])
  expect(routes.map(({ to, contacts }) => [to, contacts])).toEqual([
    [['owner'], ['owner']],
    [['ops'], []],
  ])
  expect(noticesOf(withOwner()).join('\n')).not.toContain('can never match')
})

test('a digest is over many accounts: it goes to no contact', () => {
  expect(problemsOf(withOwner(', digest: {}'))).toEqual([
    'receivers.owner.digest: is about many accounts: not with to: account',
  ])
})

test('mails to installers need a receiver of mails; the one of contacts sends them, else the first', () => {
  const on = 'tokens: { mailInstaller: true }\n'
  expect(installerMails(configOf(SMALLEST))).toBeUndefined()
  expect(installerMails(configOf(SMALLEST + on))).toEqual({ receiver: 'ops' })
  expect(installerMails(configOf(withOwner() + on))).toEqual({ receiver: 'owner' })
  const slack = SMALLEST.replace(/ {2}ops: .*\n/, '  ops: { type: slack, url: "https://hooks.slack.com/x" }\n')
  expect(problemsOf(slack + on)).toEqual([
    'tokens.mailInstaller: needs a receiver of type email: its server sends the mails',
  ])
})

test('what PagerDuty is sent is cut into messages that leave no alert out', () => {
  const pager = SMALLEST.replace(/ {2}ops: .*\n/, '  ops: { type: pagerduty, routingKey: abc }\n')
  expect(routingSettings(configOf(SMALLEST)).group.perAlert).toEqual([])
  expect(routingSettings(configOf(pager)).group.perAlert).toEqual(['ops'])
})
