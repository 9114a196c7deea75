import { type InstallOutcome, isOfReconnectLink } from '../../../accounts/install.ts'
import type { Flow } from '../../../accounts/marketplace.ts'
import { opensLimits } from '../../../provider/dialects.ts'
import type { ProviderFailure } from '../../../provider/failure.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'

export type CallbackOutcome = InstallOutcome | NotTaken

type NotTaken = Extract<Flow, { is: 'not-taken' }>

/** Page for a customer after an install, or after an attempt. What only operators understand goes to the log. */
export interface InstallAnswer {
  status: number
  title: string
  body: Html
  retryAfterSeconds?: number
  /** The page reloads by then. */
  asksAgain?: boolean
}

/** The app and the account that an install is of. */
export interface InstallSubject {
  /** `http.brand.name` */
  app: string
  /** The account of a link for just one, and an address that connects it. */
  only?: { account: string; url: string }
  /** The visit's own, signed here or not. */
  state: string | undefined
}

export function answerInstall(outcome: CallbackOutcome, now: number, subject: InstallSubject): InstallAnswer {
  const again = tryAgain(subject)
  switch (outcome.is) {
    case 'connected':
    case 'reconnected':
      return connected(outcome, subject)
    case 'shown-again':
      return outcome.success.is === 'parked' ? PARKED : answerInstall(outcome.success, now, subject)
    case 'under-way':
      return UNDER_WAY
    case 'refused':
      return notConnected(403, `The connection to ${subject.app} was canceled.`, again)
    case 'bad-state':
      return {
        status: 400,
        title: 'This link no longer works',
        body: html`<p>It was used before, or it has expired. Nothing was changed in your HubSpot account.</p>
${again}`,
      }
    case 'no-code':
      return notConnected(400, 'HubSpot did not finish the connection.', again)
    case 'other-account':
      return otherAccount(outcome, again, subject)
    case 'waits':
      return waits(outcome.until - now)
    case 'parked':
      return PARKED
    case 'unstored':
      return UNSTORED
    case 'not-taken':
      return notTaken(outcome, again)
    case 'failed':
      return failed(outcome.failure, again, subject)
  }
}

type Connected = Extract<CallbackOutcome, { scopes: string[] }>

/** Name of an account for a customer. */
export function nameForCustomer(hubId: number, hubDomain: string): string {
  return cleanText(hubDomain, 120) || `account ${hubId}`
}

function connected({ is, hubId, hubDomain, scopes }: Connected, { app }: InstallSubject): InstallAnswer {
  const warning = html`<p class="verdict warning">A permission is missing, so ${app} can't read the limits of this account. <a href="/install">Connect again</a> and accept all permissions.</p>`
  return {
    status: 200,
    title: is === 'connected' ? 'Connected' : 'Connected again',
    body: html`<p><b>${nameForCustomer(hubId, hubDomain)}</b> is connected to ${app}.</p>
${opensLimits(scopes) ? undefined : warning}
<p>You can close this window.</p>`,
  }
}

function otherAccount(
  { hubId, hubDomain, wanted, isReconnected }: Extract<CallbackOutcome, { wanted: number }>,
  again: Html,
  { only }: InstallSubject,
): InstallAnswer {
  const outcome = isReconnected ? ', which is connected again' : ''
  return {
    status: 409,
    title: 'You picked the wrong account',
    body: html`<p>You chose <b>${nameForCustomer(hubId, hubDomain)}</b>${outcome}. <b>${only?.account ?? nameForCustomer(wanted, '')}</b> still needs reconnecting.</p>
${again}`,
  }
}

export const BAD_LINKS: Readonly<Record<'expired' | 'forged', InstallAnswer>> = {
  expired: {
    status: 410,
    title: 'This link has expired',
    body: html`<p>Nothing was changed in your HubSpot account. Ask the sender for a new link, and close this window.</p>`,
  },
  forged: {
    status: 403,
    title: 'This link is not complete',
    body: html`<p>Nothing was changed in your HubSpot account. Copy the whole link from the message, or ask the sender for a new one.</p>`,
  },
}

const PARKED: InstallAnswer = {
  status: 202,
  title: 'Almost connected',
  body: html`<p>Your approval has arrived. HubSpot has not confirmed the account yet. You can close this window.</p>
<p>If the account is not connected in an hour, please <a href="/install">connect it again</a>.</p>`,
}

/** 503, so that monitoring finds it; the customer has nothing to do. */
const UNSTORED: InstallAnswer = {
  status: 503,
  title: 'Almost connected',
  body: html`<p>Your approval has arrived. The connection is finished in a few minutes. You can close this window.</p>`,
  retryAfterSeconds: 30,
}

/** Another visit has used the code, and shows its outcome, too. */
const UNDER_WAY: InstallAnswer = {
  status: 503,
  title: 'Connecting',
  body: html`<p>The account is being connected. Keep this window open: it shows the result by itself.</p>`,
  retryAfterSeconds: 5,
  asksAgain: true,
}

/** Neither code nor state was used: the same address may be asked again, for as long as the code lives. */
function waits(ms: number): InstallAnswer {
  const retryAfterSeconds = secondsOf(ms)
  return {
    status: 503,
    title: 'Not connected yet',
    body: html`<p>HubSpot accepts no new connections at the moment. Keep this window open: it tries again by itself in ${countOf(retryAfterSeconds, 'second')}.</p>
<p><a href="">Try again now</a></p>`,
    retryAfterSeconds,
    asksAgain: true,
  }
}

function notTaken({ why }: NotTaken, again: Html): InstallAnswer {
  return why === 'setting'
    ? notConnected(403, "The HubSpot Marketplace can't connect this app.", again)
    : notConnected(400, 'The link is not complete.', again)
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}

function failed(failure: ProviderFailure, again: Html, { app }: InstallSubject): InstallAnswer {
  switch (failure.class) {
    case 'rejected':
      return {
        ...notConnected(422, 'Your approval has expired, or was used before.', again),
        title: 'HubSpot did not accept the approval',
      }
    case 'client':
    case 'unauthorized':
    case 'forbidden':
      return {
        ...notConnected(502, `Please contact the vendor of ${app}.`, again),
        title: 'HubSpot does not accept this app',
      }
    case 'transient':
    case 'parked':
      return {
        ...notConnected(503, 'Try again in a moment.', again),
        title: 'HubSpot could not be reached',
        retryAfterSeconds: secondsOf(failure.retryAfterMs ?? 30_000),
      }
  }
}

function notConnected(status: number, text: string, again: Html): InstallAnswer {
  return {
    status,
    title: 'Not connected',
    body: html`<p>${text} Nothing was changed in your HubSpot account.</p>\n${again}`,
  }
}

/** The install page connects any account: a customer with a link for one account gets no link to it. */
function tryAgain({ only, state }: InstallSubject): Html {
  if (only !== undefined)
    return html`<p><a class="button main" href="${only.url}">Try again with ${only.account}</a></p>`
  return isOfReconnectLink(state)
    ? html`<p>To try again, open the link that was sent to you.</p>`
    : html`<p><a class="button main" href="/install">Try again</a></p>`
}
