import { expect, test } from 'vitest'
import { commandsOfFile } from './commands-of-file.ts'

const installed = commandsOfFile({
  provider: { clientId: 'my-app', clientSecret: 'hush-hush', scopes: ['crm.objects.contacts.read'] },
  http: { publicUrl: 'https://plimsoll.example.com' },
  receivers: {
    ops: {
      type: 'email',
      smtp: 'smtp://127.0.0.1:1',
      from: 'plimsoll@example.com',
      to: ['ops@example.com'],
      template: {
        subject: '{{ badge }}: {{ alert.headline }}',
        body: '{{ alert.happened }} {{ alert.links.reconnect }}',
      },
    },
    pager: { type: 'pagerduty', routingKey: 's3cret', template: { title: 'T {{ alert.kind }}' } },
  },
  routes: [{ to: ['ops', 'pager'] }],
})

const show = (...args: string[]) => installed.run('alerts', 'test', ...args)

test('what a receiver would be sent about an alert is shown, and nothing is sent', async () => {
  const { code, out, err } = await show('ops', '--kind', 'token', '--show')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(
    /^Subject: CRITICAL: Customer must reconnect\n\nCustomer must reconnect. HubSpot refuses the refresh token/,
  )
  expect(out).toContain('https://plimsoll.example.com/install?link=SIGNED')
})

test('a key is not shown', async () => {
  const { out } = await show('pager', '--kind', 'poll', '--show', '--json')
  expect(JSON.parse(out)).toMatchObject({
    receiver: 'pager',
    outcome: 'shown',
    shown: expect.stringContaining('"T poll"'),
  })
  expect(out).not.toContain('s3cret')
})
