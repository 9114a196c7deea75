import { ageCell } from '../text/cells.ts'
import { prose, spare, state, whole } from '../text/columns.ts'
import { countOf } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import { PolledShape } from '../views/shapes/account.ts'
import { listOf } from '../views/shapes/words.ts'
import { accountsField } from './field.ts'
import { operation } from './operation.ts'
import { noAccount } from './refusal.ts'

const poll = operation({
  id: 'pollAccount',
  route: 'POST /accounts/{hubId}/poll',
  args: '<accounts...>',
  is: 'read the limits of accounts now, as the daemon does when they are due',
  description:
    'What is read is stored and alerted on; `outcome` shows whether all was read. It takes as long as it takes.',
  takes: { hubId: accountsField('the accounts') },
  gives: listOf(PolledShape),
  problems: [404],
  example: { params: { hubId: '1234567' } },
  examples: ['1234567'],
  writesTokens: true,
  busy: () => 'accounts polled',
  does: async ({ actions, registry }, { given, who, onlooker }) => {
    const hubIds = [given.hubId].flat()
    // Among others it has a line.
    const [alone, ...others] = hubIds
    if (alone !== undefined && others.length === 0 && (await registry.get(alone)) === undefined) throw noAccount(alone)
    let done = 0
    const pollOne = async (hubId: number): Promise<PolledShape> => {
      const { account, reason } = await actions.poll(hubId, who)
      onlooker?.at(++done, hubIds.length)
      const { hubDomain = '', state = null, polledAt = null } = account ?? {}
      const outcome = reason === undefined ? 'read' : 'failed'
      return { hubId, hubDomain, state, outcome, reason: reason ?? null, polledAt: iso(polledAt) }
    }
    return Promise.all(hubIds.map(pollOne))
  },
  show: (polled, { now }) => {
    const rows = polled.map(({ hubId, hubDomain, outcome, polledAt, reason }) => [
      String(hubId),
      hubDomain,
      outcome,
      ageCell(polledAt, now),
      reason ?? '',
    ])
    return [{ columns: [whole('HUB ID'), 'DOMAIN', state('OUTCOME'), spare(whole('READ')), prose('WHY')], rows }]
  },
  fails: (polled) => {
    const failed = polled.filter(({ outcome }) => outcome === 'failed').length
    return failed === 0
      ? undefined
      : `${failed} of ${countOf(polled.length, 'account')} could not be read, or not all of it`
  },
})

/** The API polls one. */
export const accountPoll: typeof poll = { ...poll, api: { shape: PolledShape, json: ([polled]) => polled } }
