import { expect, test } from 'vitest'
import { Turns } from '../../jobs/deliver.ts'
import { createEmailReceiver } from '../../src/delivery/receivers/email/send-email.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { startMailServer } from '../delivery/email/mail-server.ts'
import { aMessage } from '../delivery/example-messages.ts'

const never = new AbortController().signal

test('a mail server that takes its time for each mail gets no more at once than there are connections to it, and each once', async (context) => {
  const slow = Promise.withResolvers<void>()
  const server = await startMailServer({
    disabledCommands: ['STARTTLS'],
    onMailFrom: (_address, _session, done) => void slow.promise.then(() => done()),
  })
  const mail = createEmailReceiver({
    name: 'ops-mail',
    smtp: new Secret(`smtp://127.0.0.1:${server.port}`),
    tls: 'optional',
    ehlo: 'plimsoll.example.com',
    from: 'plimsoll@example.com',
    to: ['ops@example.com'],
  })
  context.onTestFinished(async () => {
    await mail.close()
    await server.close()
  })
  const turns = new Turns()
  let begun = 0
  const send = (n: number) => {
    begun++
    return mail.send({ id: `d-${n}`, message: aMessage(), now: 0 }, never)
  }
  const attempts = Array.from({ length: 10 }, (_, n) => turns.take(mail.name, mail.atATime ?? 8, () => send(n)))
  expect(await Promise.all(attempts.slice(6))).toEqual(Array(4).fill(undefined))
  // What waits for its turn has not begun: its time does not run.
  expect(begun).toBe(3)
  slow.resolve()
  const tried = await Promise.all(attempts.slice(0, 6))
  expect(tried.map((one) => one?.outcome)).toEqual(Array(6).fill('delivered'))
  expect(server.arrived).toHaveLength(6)
})

test('a receiver that another config makes one with more places has them at once, whoever still holds an old one', async () => {
  const turns = new Turns()
  const slow = Promise.withResolvers<void>()
  const before = [1, 2].map(() => turns.take('ops', 1, () => slow.promise.then(() => 'done')))
  expect(await turns.take('ops', 1, async () => 'done')).toBeUndefined()
  expect(await turns.take('ops', 2, async () => 'done')).toBe('done')
  slow.resolve()
  expect(await Promise.all(before)).toEqual(['done', 'done'])
})
