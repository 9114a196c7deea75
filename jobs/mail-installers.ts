import type { Account } from '../src/accounts/account.ts'
import { addresseeFor } from '../src/accounts/contact.ts'
import type { Alert } from '../src/alerts/alert.ts'
import { currentAcknowledgement, decodeState, TOKEN_FIELD } from '../src/alerts/alert-state.ts'
import { repeatedAlert } from '../src/alerts/open-alerts.ts'
import { receiversOf } from '../src/alerts/route.ts'
import { type Circumstances, readCircumstances } from '../src/alerts/sending/hold.ts'
import { silenceOf } from '../src/alerts/silence.ts'
import { planReconnectMail } from '../src/delivery/reconnect-mail.ts'
import { reconnectMailEvery } from '../src/tokens/ask-to-reconnect.ts'
import type { JobDeps } from './job-deps.ts'

type InstallersWork = Pick<
  JobDeps,
  'installerMails' | 'registry' | 'store' | 'keys' | 'sending' | 'queues' | 'clock' | 'log'
>

/** An account that must reconnect, and whose customer can be asked to. */
interface DueMail {
  hubId: number
  since: number
  isSentAlert: boolean
  alert: Alert & { account: object }
}

const PAGE = 500

/**
 * Mails the link that connects an account again to its contact, or to the installer of the app, where the config wants that. What
 * is handled by an operator is left to them, and while all accounts have a trouble in common nothing is asked of customers.
 */
export async function mailInstallers(deps: InstallersWork): Promise<undefined> {
  const { installerMails: receiver, registry, sending, clock } = deps
  if (receiver === undefined) return
  const now = clock.now()
  const lost = await lostAccounts(deps)
  if (lost.length === 0) return
  const circumstances = await readCircumstances(sending, now)
  if (circumstances.fleet.length > 0) return
  const { uninstalling: _, uninstalled: __, ...live } = await registry.countByState()
  const accounts = Object.values(live).reduce((sum, count) => sum + count, 0)
  const all = { lost: lost.map(({ refusedSince }) => ({ since: refusedSince ?? 0 })), accounts, now }
  for (const account of lost) {
    const asked = await readDueMail(deps, account, circumstances, now)
    const everyMs = asked && reconnectMailEvery(asked, all)
    if (asked !== undefined && everyMs !== undefined) await mail(deps, asked, { receiver, everyMs }, now)
  }
}

/** All that must reconnect. One whose token is another account's has no refusal: that is the operators' mistake. */
async function lostAccounts({ registry }: InstallersWork): Promise<Account[]> {
  const found: Account[] = []
  for (let after = 0; ; ) {
    const page = await registry.page(PAGE, after, ['reauthorize'])
    found.push(...page.filter(({ refusedSince }) => refusedSince !== null))
    const last = page.at(-1)
    if (last === undefined) return found
    after = last.hubId
  }
}

/** Undefined: no installer is to be asked now. */
async function readDueMail(
  { store, keys, sending }: InstallersWork,
  account: Account,
  { silences }: Circumstances,
  now: number,
): Promise<DueMail | undefined> {
  const { hubId, hubDomain, refusedSince, contact } = account
  if (addresseeFor(account, 'token').is === 'none' || refusedSince === null) return undefined
  const stored = await store.hget(keys.account(hubId).alerts, TOKEN_FIELD)
  const state = decodeState(stored)
  if (state?.level !== 'critical' || currentAcknowledgement(state, now) !== undefined) return undefined
  const open = { hubId, hubDomain, field: TOKEN_FIELD, state: { ...state, level: state.level } }
  const alert = repeatedAlert(open, now)
  if (silenceOf(silences, alert, now) !== undefined) return undefined
  const receivers = receiversOf(sending.routes, alert, contact !== null)
  const isSentAlert = receivers.some((receiver) => sending.group.contacts?.includes(receiver))
  return { hubId, since: refusedSince, isSentAlert, alert }
}

async function mail(
  { store, keys, queues, log }: InstallersWork,
  { hubId, alert }: DueMail,
  how: { receiver: string; everyMs: number },
  now: number,
): Promise<void> {
  const delivery = await planReconnectMail({ store, keys }, alert, how, now)
  if (delivery === undefined) return
  log.info({ code: 'installer.asked', hubId, delivery }, 'the customer is asked by mail to connect the account again')
  await queues.wake('alerts', now)
}
