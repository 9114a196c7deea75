import type { SweepKind } from '../../jobs/queues.ts'
import { connectWithRefreshToken } from '../accounts/connect-account.ts'
import { addresseeFor, changeContact } from '../accounts/contact.ts'
import { importRows } from '../accounts/import-accounts.ts'
import { reconnectLink } from '../accounts/install.ts'
import { readForExport } from '../accounts/registry.ts'
import { beginUninstall } from '../accounts/uninstall.ts'
import { openStatesOf, repeatedAlert } from '../alerts/open-alerts.ts'
import { readCircumstances } from '../alerts/sending/hold.ts'
import { wantsReconnect } from '../delivery/describe/mail-links.ts'
import { planReconnectMail } from '../delivery/reconnect-mail.ts'
import type { Actions } from '../operations/actions.ts'
import { Refusal } from '../operations/refusal.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { VaultError } from '../tokens/vault.ts'
import { type Acting, pollNow, refreshNow } from './account-jobs.ts'
import type { Services } from './services.ts'
import { reconnectReceiver } from './settings.ts'

/** Actions on accounts. Tokens that are stored wait for Redis; all else is done on the connection that gives up. */
export function actionsOnAccounts({ accessTokens, jobs }: Acting, services: Services, failFast: Services) {
  const { store, keys, audit, vault, config, clock, log, registry, sending, silences } = failFast
  // An account is read on the connection that waits, as its job does.
  const noting = { registry: services.registry, audit }
  const mails = reconnectReceiver(config)
  const reconnectMailTo: Actions['reconnectMailTo'] = async (account) => {
    if ('why' in mails) return mails
    const { fleet } = await readCircumstances({ ...sending, store, silences }, clock.now())
    if (fleet[0] !== undefined)
      return { why: `no customer is written to while an alert about all accounts is open (${fleet[0]})` }
    const addressee = addresseeFor(account, 'poll')
    return addressee.is === 'found' ? { to: addressee.address, ...mails } : addressee
  }
  return {
    /** The daemon's job does the rest. */
    async uninstall(hubId, reason, who) {
      const begun = await beginUninstall(failFast, hubId, { by: who.via === 'command' ? 'cli' : 'api', reason })
      if (begun === 'begun') {
        await audit.note({ action: 'account.uninstalled', who, hubId, detail: reason })
        await wakeNow(failFast, 'uninstall', 'alerts')
      }
      return begun
    },
    /** Neither log nor audit has the address. */
    async setContact(hubId, address, who) {
      const outcome = await changeContact(failFast, hubId, address)
      const detail = address === null ? 'removed' : 'set'
      if (outcome === 'changed') await audit.note({ action: 'account.contact', who, hubId, detail })
      return outcome
    },
    poll: (hubId, who) => pollNow(jobs, noting, hubId, who),
    async pollForCheck(hubIds, who) {
      const [hubId, ...others] = hubIds
      const isOne = hubId !== undefined && others.length === 0
      const whose = isOne ? { hubId } : { detail: hubId === undefined ? 'all of them' : hubIds.join(', ') }
      await audit.noteRequest({ action: 'account.polled', who, ...whose }, whose.detail)
      return jobs.poll
    },
    refresh: (hubId, who) => refreshNow(jobs, noting, hubId, who),
    async connect(refreshToken, who) {
      const outcome = await connectWithRefreshToken(services, refreshToken).catch((error: unknown) => {
        if (!(error instanceof VaultError)) throw error
        throw new Refusal('unavailable', `its newest refresh token is sealed, and can't be opened: ${error.message}`)
      })
      if (outcome.is === 'failed' || outcome.is === 'busy') return outcome
      await connected(services)
      await services.audit.note({ action: 'account.connected', who, hubId: outcome.hubId, detail: outcome.is })
      return outcome
    },
    /** The first refresh of what is new need not wait for the clock, nor its digest be sent in pieces. */
    async importAccounts(lines, options, who) {
      const note = (detail: string) => services.audit.note({ action: 'accounts.imported', who, detail })
      const summary = await importRows(services, lines, options).catch(async (error: unknown) => {
        await note('a part: an error ended it')
        throw error
      })
      const { imported, replaced } = summary
      if (imported + replaced === 0) return summary
      const noteMoment = services.store.hset(keys.fleet, 'connectedAt', clock.now())
      await Promise.all([noteMoment, wakeNow(services, 'refresh-tokens')])
      await note(`imported ${formatCount(imported)}, replaced ${formatCount(replaced)}`)
      return summary
    },
    /** Noted however the reading ends, a stop included: what was read is out. */
    async *exportAccounts(who, stop) {
      let count = 0
      try {
        for await (const accounts of readForExport(store, keys)) {
          stop.throwIfAborted()
          count += accounts.length
          yield accounts
        }
      } finally {
        await audit.note({ action: 'accounts.exported', who, detail: countOf(count, 'account') })
      }
    },
    /** The log has each; a program does not wait for the audit. */
    async accessToken(hubId, who) {
      const answer = await accessTokens.serve(hubId, who.name)
      if (answer.is === 'served') {
        log.info({ code: 'token.served', hubId, to: who.name, via: who.via }, 'an access token was handed out')
        void audit.noteFirstOfDay({ action: 'token.served', who, hubId })
      }
      return answer
    },
    /** Pages that show it again on the same day are not noted again. */
    reconnectLink(hubId, who) {
      const noted = audit.noteFirstOfDay({ action: 'reconnect-link.made', who, hubId })
      return { ...reconnectLink(vault, config.http.publicUrl, hubId, clock.now()), noted }
    },
    reconnectMailTo,
    async mailReconnectLink(hubId, who) {
      const account = await registry.get(hubId)
      if (account === undefined) return { is: 'unknown' }
      const now = clock.now()
      const mail = await reconnectMailTo(account)
      if ('why' in mail) return { is: 'refused', why: mail.why }
      const open = await openStatesOf(store, keys, hubId)
      const alert = open.map((one) => repeatedAlert(one, now)).find(wantsReconnect)
      if (alert === undefined) return { is: 'refused', why: 'no open alert asks for a new connection' }
      const delivery = await planReconnectMail(failFast, alert, { ...mail, everyMs: BETWEEN_MAILS_MS }, now)
      if (delivery === undefined)
        return { is: 'refused', why: 'the mail before is younger than a minute, or not delivered yet' }
      await audit.note({ action: 'reconnect-link.mailed', who, hubId }, { delivery })
      await wakeNow(failFast, 'alerts')
      return { is: 'planned', to: mail.to }
    },
  } satisfies Partial<Actions>
}

/** A second click must not write to a customer twice. */
const BETWEEN_MAILS_MS = 60_000

/** After an account was connected: its first poll need not wait for the clock. */
export function connected(services: Pick<Services, 'queues' | 'clock'>): Promise<void> {
  return wakeNow(services, 'poll-limits', 'alerts')
}

/** The sweeps of these kinds need not wait for the clock. */
export async function wakeNow({ queues, clock }: Pick<Services, 'queues' | 'clock'>, ...kinds: SweepKind[]) {
  await Promise.all(kinds.map((kind) => queues.wake(kind, clock.now())))
}
