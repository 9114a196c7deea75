import { countOf } from '../text/format-number.ts'
import { formatMoment } from '../text/format-time.ts'
import { ReplayedShape } from '../views/shapes/delivery.ts'
import { momentField, textField } from './field.ts'
import { operation } from './operation.ts'
import { wrongField } from './refusal.ts'

export const deliveryReplay = operation({
  id: 'replayDeliveries',
  route: 'POST /deliveries/replay',
  is: 'send again what was given up since a moment, each under its own id, for another three days',
  description: 'Nothing goes to a receiver that is switched off.',
  takes: { since: momentField('from when on'), receiver: textField('only what this receiver was to get') },
  gives: ReplayedShape,
  example: { body: { since: '2026-11-21T00:00:00Z' } },
  examples: ['--since 2h --receiver ops-hook'],
  asks: async () => ({ question: 'Receivers get the messages again that were given up.', answer: 'yes' }),
  busy: () => 'deliveries read',
  does: async ({ actions }, { given: { since: from, receiver }, who, now }) => {
    const since = from(now)
    if (since > now) throw wrongField('since', 'lies in the future')
    const outcome = await actions.replay({ since, receiver }, who)
    if (outcome.is === 'unknown-receiver') throw wrongField('receiver', outcome.why)
    return outcome
  },
  json: ({ replayed, disabled }) => ({ replayed, disabled }),
  show: ({ replayed, disabled }, { given: { since, receiver }, now }) => {
    const whose = receiver === undefined ? 'delivery' : `delivery to ${receiver}`
    const none = replayed + disabled.length > 0 ? '' : `: no ${whose} was given up since ${formatMoment(since(now))}`
    const off = 'is switched off, so nothing goes its way: enable it first: plimsoll alerts test'
    return [
      `${countOf(replayed, 'delivery', 'deliveries')} on the way again${none}`,
      ...disabled.map((name) => `${name} ${off} ${name}`),
    ]
  },
})
