import { expect, test } from 'vitest'
import { changedPaths, takeOver } from '../../config/in-force.ts'
import { configOf, SMALLEST, smallestWith } from './load-text.ts'

const inForce = configOf(SMALLEST)
const restartsFor = (text: string) => {
  const next = configOf(smallestWith(text))
  return changedPaths(takeOver(inForce, next), next)
}
const appliedOf = (text: string) => changedPaths(inForce, takeOver(inForce, configOf(smallestWith(text))))

test.each([
  ['thresholds: [{ on: customProperties.overall, warning: { percent: 70 } }]', ['thresholds']],
  ['alerts: { repeatEvery: 12h, group: { wait: 10s } }', ['alerts.repeatEvery', 'alerts.group.wait']],
  ['limits: { every: 5m, callsPerHour: 5000 }', ['limits.every', 'limits.callsPerHour']],
  ['tags: { vip: [1] }', ['tags.vip']],
  ['schedule: { pollLimits: "* * * * * *" }', ['schedule.pollLimits']],
  ['heartbeat: { url: "https://hc.example.com/x" }', ['heartbeat']],
  ['uninstall: { keep: 1d }', ['uninstall.keep']],
  ['log: { level: debug }', ['log.level']],
])('%s is taken over at once', (text, paths) => {
  expect(appliedOf(text)).toEqual(paths)
  expect(restartsFor(text)).toEqual([])
})

test.each([
  ['redis: { url: "redis://elsewhere:6379" }', ['redis.url']],
  ['dataDir: /elsewhere', ['dataDir']],
  ['tokens: { refreshFrom: 40% }', ['tokens.refreshFrom']],
  ['log: { pretty: true, file: /var/log/plimsoll.log }', ['log.pretty', 'log.file']],
])('%s needs a restart', (text, paths) => {
  expect(appliedOf(text)).toEqual([])
  expect(restartsFor(text)).toEqual(paths)
})

test('of the provider, who the app is and what it may be granted is taken over; where it is, is not', () => {
  const text =
    'provider: { clientId: other, clientSecret: other, scopes: [oauth, crm], baseUrl: "https://other.example.com", connections: 800 }'
  expect(appliedOf(text)).toEqual(['provider.clientId', 'provider.clientSecret', 'provider.scopes'])
  expect(restartsFor(text)).toEqual(['provider.baseUrl', 'provider.connections'])
})

test('keys that are left out of the file stay what they are', () => {
  const key = `encryption: { keys: [{ id: k1, key: "${Buffer.alloc(32, 7).toString('base64')}" }] }`
  const withKey = configOf(smallestWith(key))
  expect(takeOver(withKey, inForce).encryption).toEqual(withKey.encryption)
  expect(changedPaths(takeOver(withKey, inForce), inForce)).toEqual(['encryption'])
})
