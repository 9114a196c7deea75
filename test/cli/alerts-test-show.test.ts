import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { plimsollHere } from '../support/command.ts'

const folder = mkdtempSync(join(tmpdir(), 'plimsoll-show-'))
const config = join(folder, 'plimsoll.yaml')
writeFileSync(
  config,
  `
provider: { clientId: my-app, clientSecret: hush-hush }
http: { publicUrl: https://plimsoll.example.com }
receivers:
  ops:
    type: email
    smtp: smtp://127.0.0.1:1
    from: plimsoll@example.com
    to: [ops@example.com]
    template: { subject: "{{ badge }}: {{ alert.headline }}", body: "{{ alert.happened }} {{ alert.links.reconnect }}" }
  pager: { type: pagerduty, routingKey: s3cret, template: { title: "T {{ alert.kind }}" } }
routes:
  - to: [ops, pager]
`,
)
afterAll(() => rmSync(folder, { recursive: true }))

const show = (...args: string[]) => plimsollHere(['alerts', 'test', ...args, '--config', config], folder)

test('what a receiver would be sent about an alert is shown; nothing is sent, and no data are made or wanted', async () => {
  const { code, out, err } = await show('ops', '--kind', 'token', '--show')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/^Subject: CRITICAL: customer must reconnect\n\nThis account's tokens can't be refreshed/)
  expect(out).toContain('https://plimsoll.example.com/install?link=SIGNED')
  expect(readdirSync(folder)).toEqual(['plimsoll.yaml'])
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

test('a kind is for what is shown', async () => {
  expect(await show('ops', '--kind', 'token')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--kind is for --show'),
  })
  expect(await show('ops', '--kind', 'tokn', '--show')).toMatchObject({ code: 2 })
})
