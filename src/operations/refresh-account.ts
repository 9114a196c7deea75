import { formatTime, iso } from '../text/format-time.ts'
import { RefreshedShape } from '../views/shapes/account.ts'
import { accountField, required } from './field.ts'
import { operation } from './operation.ts'
import { noAccount, Refusal } from './refusal.ts'

const KINDS = {
  gone: 'gone',
  held: 'conflict',
  planned: 'conflict',
  closed: 'unavailable',
  failed: 'provider-failed',
} as const

export const accountRefresh = operation({
  id: 'refreshAccount',
  route: 'POST /accounts/{hubId}/refresh',
  args: '<account>',
  is: "refresh the account's tokens now, as the daemon does when they are due",
  description:
    'At once, unless the next attempt is planned after one that failed. Where an unread answer waits for your decision, this is it.',
  takes: { hubId: required(accountField('the account')) },
  gives: RefreshedShape,
  problems: [404, 409, 410, 502, 503],
  example: { params: { hubId: '1234567' } },
  examples: ['1234567'],
  writesTokens: true,
  busy: ({ hubId }) => `refreshing account ${hubId}`,
  does: async ({ actions }, { given: { hubId }, who }): Promise<RefreshedShape> => {
    const answer = await actions.refresh(hubId, who)
    if (answer.is === 'refreshed') {
      const { hubDomain, state, token } = answer.account
      return { hubId, hubDomain, state, outcome: 'refreshed', expiresAt: iso(token.expiresAt) }
    }
    if (answer.is === 'unknown') throw noAccount(hubId)
    const { is, why, until } = answer
    throw new Refusal(KINDS[is], `account ${hubId} was not refreshed: ${why}`, { until })
  },
  show: ({ hubId, expiresAt }) => [
    `refreshed account ${hubId}: its access token is valid until ${formatTime(expiresAt ?? '')}`,
  ],
})
