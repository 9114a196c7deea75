import * as z from 'zod'
import { SAMPLE_NAMES } from '../delivery/templates/sample-messages.ts'
import { formatSeconds } from '../text/format-number.ts'
import { suggest } from '../text/suggest.ts'
import { receiverStatus, receiverTestJson, shownMessageJson } from '../views/deliveries.ts'
import { ReceiverShape, ReceiverTestShape } from '../views/shapes/delivery.ts'
import type { TestedReceiver } from './actions.ts'
import { choiceField, textField } from './input.ts'
import { operation } from './operation.ts'
import { Refusal, wrongField } from './refusal.ts'

export const listReceivers = operation({
  id: 'listReceivers',
  method: 'GET',
  path: '/receivers',
  summary: 'the state of each receiver',
  input: z.strictObject({}),
  output: z.object({ items: z.array(ReceiverShape).describe('By name.') }),
  answers: { 200: 'All of them.' },
  run: async ({ receiverStore }) => ({ items: (await receiverStore.read()).map(receiverStatus) }),
})

const TEST = z.strictObject({
  name: textField('its name in the config', { 'x-word': 'receiver' }),
  kind: choiceField(SAMPLE_NAMES, 'with --show: a message about such an alert; else one about a limit').optional(),
})

export const testReceiver = operation({
  id: 'testReceiver',
  method: 'POST',
  path: '/receivers/{name}/test',
  summary: 'send a test message through a receiver now; enables one that is switched off',
  description: 'Through the same code as alerts; one that arrives enables a receiver that is switched off.',
  input: TEST,
  output: ReceiverTestShape,
  problems: [404],
  answers: { 200: 'The result; `outcome` shows whether it arrived.' },
  example: { params: { name: 'ops-hook' } },
  command: {
    name: 'alerts test',
    args: '<name>',
    examples: ['ops-mail', 'ops-mail --kind token --show'],
    flags: { show: { id: 'showTestMessage', description: 'print what would be sent instead, and send nothing' } },
    busy: 'sending a test message',
  },
  run: async ({ actions, receivers }, { input: { name, kind }, who }) => {
    if (kind !== undefined) throw wrongField('kind', 'is for --show: a test has a text of its own')
    const tested = await actions.testReceiver(name, who)
    if (tested === undefined) throw noReceiver(name, receivers)
    return { name, tested }
  },
  json: ({ name, tested }) => receiverTestJson(name, tested),
  table: ({ name, tested }) => {
    const { outcome, ms } = tested
    if (outcome.outcome !== 'delivered') return []
    const answered = outcome.answer === undefined ? '' : `, answered ${outcome.answer}`
    const detail = outcome.detail === undefined ? '' : ` (${outcome.detail})`
    return [`${name}: delivered in ${formatSeconds(ms)}${answered}${detail}${notedText(tested)}`]
  },
  fails: ({ name, tested }) => {
    const { outcome, fix } = tested
    return outcome.outcome === 'delivered' ? undefined : `${name}: ${outcome.reason}; ${fix}${notedText(tested)}`
  },
})

export const showTestMessage = operation({
  id: 'showTestMessage',
  method: 'GET',
  path: '/receivers/{name}/sample',
  summary: 'what a receiver would be sent about an alert; nothing is sent',
  description: 'No data are read: the alert is made up, and links are not signed.',
  input: TEST,
  output: ReceiverTestShape,
  problems: [404],
  answers: { 200: 'The message; `reason` is why its template was left out.' },
  example: { params: { name: 'ops-hook' }, query: { kind: 'token' } },
  run: async ({ actions, receivers }, { input: { name, kind = 'limit' } }) => {
    const shown = await actions.showTestMessage(name, kind)
    if (shown === undefined) throw noReceiver(name, receivers)
    return { name, shown }
  },
  json: ({ name, shown }) => shownMessageJson(name, shown),
  table: ({ shown }) => (shown.fault === undefined ? shown.text.trimEnd().split('\n') : []),
  fails: ({ name, shown }) => (shown.fault === undefined ? undefined : `${name}: ${shown.fault}`),
})

function notedText({ noted }: TestedReceiver): string {
  if (noted === 'enabled') return '; it was switched off, and gets messages again'
  return noted === 'away' ? '; not noted in the log of deliveries: Redis does not answer' : ''
}

function noReceiver(name: string, receivers: readonly string[]): Refusal {
  const near = suggest(name, receivers)
  const hint = near === undefined ? `there are ${receivers.join(', ')}` : `did you mean ${near}?`
  return new Refusal('unknown', `no receiver is called ${name.slice(0, 40)}`, receivers.length === 0 ? {} : { hint })
}
