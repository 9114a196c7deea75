import { expect, test } from 'vitest'
import { receiverKind } from '../../src/delivery/receivers/all-receivers.ts'

test.each<['email' | 'webhook', number | undefined, RegExp, reason?: string]>([
  ['webhook', undefined, /receivers\.ops\.url, and that this machine may connect/],
  ['webhook', 302, /the address that it leads to/],
  ['webhook', 401, /receivers\.ops\.secrets/],
  ['webhook', 404, /no messages are taken there/],
  ['webhook', 410, /no messages are taken there/],
  ['webhook', 400, /receivers\.ops\.format/],
  ['webhook', 429, /try again/],
  ['webhook', 503, /try again/],
  ['email', undefined, /host and port in receivers\.ops\.smtp/],
  ['email', 535, /user and password/],
  ['email', 504, /receivers\.ops\.name/, 'refused as localhost (EHLO, setting name): 504 5.5.2'],
  ['email', 550, /receivers\.ops\.name/, 'sender or recipients refused: 550 5.7.1 Helo command rejected'],
  ['email', 451, /later/],
  ['email', 550, /receivers\.ops\.from and receivers\.ops\.to/],
])('of a %s that answered %s the way out is %s', (type, answer, says, reason = '') => {
  expect(receiverKind({ type }).wayOut('receivers.ops', answer, reason)).toMatch(says)
})
