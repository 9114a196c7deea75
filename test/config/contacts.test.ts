import { expect, test } from 'vitest'
import { receiversOf } from '../../src/alerts/route.ts'
import { reconnectReceiver, routingSettings } from '../../src/app/settings.ts'
import { configOf, noticesOf, problemsOf, SMALLEST } from './load-text.ts'

const owner = (more = '') =>
  `  owner: { type: email, smtp: "smtps://mail.example.com", from: app@example.com, to: account${more} }\n`
/** The smallest file with a receiver of contacts, and a route to it before the one that takes the rest. */
const withOwner = (more = '') => withName(SMALLEST).replace('routes:\n', `${owner(more)}routes:\n  - to: [owner]\n`)
const withName = (text: string) => text.replace('.com }', '.com, brand: { name: Example App } }')

test('a receiver of contacts takes what its route matches of accounts that have one, so a route below is no mistake', () => {
  const { routes, group } = routingSettings(configOf(withOwner()))
  expect(group.contacts).toEqual(['owner'])
  expect(routes.map(({ to, contacts }) => [to, contacts])).toEqual([
    [['owner'], ['owner']],
    [['ops'], []],
  ])
  expect(noticesOf(withOwner()).join('\n')).not.toMatch(/can never match|http\.brand/)
})

test('a digest is over many accounts: it goes to no contact', () => {
  expect(problemsOf(withOwner(', digest: {}'))).toEqual([
    'receivers.owner.digest: is about many accounts: not with to: account',
  ])
})

const ASKS = 'tokens: { mailInstaller: true }\n'

test('customers are asked to connect again by the receiver of contacts, or else by the first for mails', () => {
  expect(reconnectReceiver(configOf(withName(SMALLEST) + ASKS))).toEqual({ receiver: 'ops' })
  expect(reconnectReceiver(configOf(withOwner()))).toEqual({ receiver: 'owner' })
  const slack = SMALLEST.replace(/ {2}ops: .*\n/, '  ops: { type: slack, url: "https://hooks.slack.com/x" }\n')
  expect(reconnectReceiver(configOf(slack))).toEqual({ why: 'the config has no receiver of type email' })
  expect(problemsOf(slack + ASKS)).toEqual([
    'tokens.mailInstaller: needs a receiver of type email: its server sends the mails',
  ])
})

test('no customer is written to where http.brand.name is not set: the next route decides, and a notice says so', () => {
  const nameless = withOwner().replace(/, brand: .*? }/, '')
  const { routes } = routingSettings(configOf(nameless))
  expect(routes.map(({ to }) => to)).toEqual([[], ['ops']])
  const alert = {
    kind: 'limit',
    level: 'critical',
    rule: 'x',
    account: { hubId: 4, hubDomain: 'a.example.com' },
  } as const
  expect(receiversOf(routes, alert, true)).toEqual(['ops'])
  expect(reconnectReceiver(configOf(nameless))).toMatchObject({
    why: expect.stringContaining('http.brand.name is not set'),
  })
  const notice = 'http.brand.name: not set: no mail is sent to customers, who must know who writes to them'
  expect(noticesOf(nameless)).toContain(notice)
  expect(noticesOf(SMALLEST + ASKS)).toContain(notice)
  expect(noticesOf(SMALLEST)).not.toContain(notice)
})

test('what PagerDuty is sent is cut into messages that leave no alert out', () => {
  const pager = SMALLEST.replace(/ {2}ops: .*\n/, '  ops: { type: pagerduty, routingKey: abc }\n')
  expect(routingSettings(configOf(SMALLEST)).group.perAlert).toEqual([])
  expect(routingSettings(configOf(pager)).group.perAlert).toEqual(['ops'])
})
