import { acknowledgementOf } from '../alerts/open-alerts.ts'
import { LONGEST_AUTHOR, LONGEST_COMMENT } from '../alerts/silence.ts'
import { cleanText } from '../text/clean-text.ts'
import { formatMoment } from '../text/format-time.ts'
import { AcknowledgedShape } from '../views/shapes/alert.ts'
import { textField } from './field.ts'
import { ALERT, alertNamed, idsOf, justClosed, whoseAlert } from './one-alert.ts'
import { operation } from './operation.ts'
import { Refusal } from './refusal.ts'

export const acknowledgement = operation({
  id: 'acknowledgeAlert',
  route: 'POST /alerts/{id}/acknowledge',
  args: '<alert>',
  is: 'acknowledge an open alert: it is not sent again until it gets worse',
  takes: {
    id: ALERT,
    comment: textField('what is being done', { most: LONGEST_COMMENT }),
    by: textField('by whom; default: who runs this', { most: LONGEST_AUTHOR, option: 'author' }),
  },
  gives: AcknowledgedShape,
  problems: [404, 409],
  example: { params: { id: '72254a98b7594a1f' }, body: { comment: 'asked the customer' } },
  examples: ['1f0c9a7be2d45a63 --comment "asked the customer"'],
  does: async (deps, { given, who }) => {
    const alert = await alertNamed(deps, given.id)
    // Comment and author go into mails, pages and logs.
    const comment = cleanText(given.comment ?? '', LONGEST_COMMENT) || undefined
    const by = cleanText(given.by ?? '', LONGEST_AUTHOR) || who.name
    const { id, hubId, state } = alert
    const outcome = await deps.actions.acknowledge({ id, hubId, level: state.level }, { by, comment }, who)
    if (outcome.is === 'not-open') throw justClosed(id)
    if (outcome.is !== 'gone-worse') return { alert, ...outcome }
    const wayOut = 'plimsoll alerts list shows how, then acknowledge it'
    throw new Refusal('conflict', `alert ${id} has just got worse`, { wayOut })
  },
  json: ({ alert, is, acknowledged }) => ({
    ...idsOf(alert),
    outcome: is,
    acknowledged: acknowledgementOf(acknowledged),
  }),
  show: ({ alert, is, acknowledged }) => {
    const [whose, until] = [whoseAlert(alert), formatMoment(acknowledged.until)]
    return [
      is === 'acknowledged'
        ? `acknowledged alert ${alert.id} of ${whose}: it is not sent again until ${until}, unless it gets worse`
        : `alert ${alert.id} of ${whose} was acknowledged already, by ${cleanText(acknowledged.by)} until ${until}`,
    ]
  },
})
