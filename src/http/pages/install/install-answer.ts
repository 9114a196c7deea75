import { type InstallOutcome, isOfReconnectLink, type Redirect } from '../../../accounts/install.ts'
import type { Flow } from '../../../accounts/marketplace.ts'
import { opensLimits } from '../../../provider/dialects.ts'
import type { ProviderFailure } from '../../../provider/failure.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { causeOf } from '../../../tokens/endpoint/breaker.ts'

/** `too-many`: the client has sent too many codes that were refused. */
export type CallbackOutcome = InstallOutcome | { is: 'too-many'; waitMs: number } | NotTaken

type NotTaken = Extract<Flow, { is: 'not-taken' }>

/** Page for a customer after an install, or after an attempt. */
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
  /** `http.brand.name`, or the host of this server. */
  app: string
  /** The account of a link for just one. */
  account?: string
}

export function answerInstall(
  outcome: CallbackOutcome,
  redirect: Redirect,
  now: number,
  subject: InstallSubject,
): InstallAnswer {
  const again = startAgain(redirect)
  switch (outcome.is) {
    case 'connected':
    case 'reconnected':
      return connected(outcome, subject)
    case 'shown-again':
      return outcome.success.is === 'parked' ? PARKED : answerInstall(outcome.success, redirect, now, subject)
    case 'under-way':
      return UNDER_WAY
    case 'refused':
      return {
        status: 403,
        title: 'Not connected',
        body: html`<p>The installation was refused or canceled (${cleanText(outcome.reason, 80)}). Nothing was stored.</p>
${again}`,
      }
    case 'bad-state':
      return {
        status: 400,
        title: 'This link no longer works',
        body: html`<p>It was used before, is more than an hour old, or was not started from this site. Nothing was stored.</p>
${again}`,
      }
    case 'no-code':
      return {
        status: 400,
        title: 'A parameter is missing',
        body: html`<p>The provider sent you back without the code that connects the account. Nothing was stored.</p>
${again}`,
      }
    case 'other-account':
      return otherAccount(outcome, subject)
    case 'waits':
      return waits(outcome.until - now)
    case 'parked':
      return PARKED
    case 'unstored':
      return UNSTORED
    case 'not-taken':
      return notTaken(outcome)
    case 'too-many':
      return tooMany(outcome.waitMs, again)
    case 'failed':
      return failed(outcome.failure, again)
  }
}

type Connected = Extract<CallbackOutcome, { scopes: string[] }>

/** Name of an account for a customer. */
export function nameForCustomer(hubId: number, hubDomain: string): string {
  const domain = cleanText(hubDomain, 120)
  return domain === '' ? `account ${hubId}` : `${domain} (account ${hubId})`
}

function connected({ is, hubId, hubDomain, scopes }: Connected, { app }: InstallSubject): InstallAnswer {
  const warning = html`<p class="verdict warning">Its limits can't be read: a permission is missing. Connect it again with a scope such as crm.objects.contacts.read.</p>`
  return {
    status: 200,
    title: is === 'connected' ? 'Connected' : 'Connected again',
    body: html`<p><b>${nameForCustomer(hubId, hubDomain)}</b> is connected to ${app}. You can close this page.</p>
${opensLimits(scopes) ? undefined : warning}`,
  }
}

function otherAccount(
  { hubId, hubDomain, wanted, isReconnected }: Extract<CallbackOutcome, { wanted: number }>,
  { account = `account ${wanted}` }: InstallSubject,
): InstallAnswer {
  const outcome = isReconnected
    ? `This account was connected before: it was reconnected. Account ${wanted} was not.`
    : 'Nothing was stored.'
  return {
    status: 409,
    title: 'This was another account',
    body: html`<p>The link connects <b>${account}</b> and no other. You chose ${nameForCustomer(hubId, hubDomain)}. ${outcome}</p>
<p>Open the link again and choose ${account}.</p>`,
  }
}

export const BAD_LINKS: Readonly<Record<'expired' | 'forged', InstallAnswer>> = {
  expired: {
    status: 410,
    title: 'This link has expired',
    body: html`<p>Nothing was changed. Ask the sender for a new one.</p>`,
  },
  forged: {
    status: 403,
    title: 'This link is not valid',
    body: html`<p>Nothing was changed. Part of it may be missing: copy the whole link from the message.</p>`,
  },
}

const PARKED: InstallAnswer = {
  status: 202,
  title: 'Connected, being set up',
  body: html`<p>Your consent has arrived, and the provider has not confirmed yet which account it is for. Nothing more is to be done: you can close this page.</p>
<p>Should the provider not do so within an hour, the access that you gave is handed back, and the account must be connected again.</p>`,
}

/** 503, so that monitoring finds it; the customer has nothing to do. */
const UNSTORED: InstallAnswer = {
  status: 503,
  title: 'Connected, being set up',
  body: html`<p>Your consent has arrived, and this server can't store it at the moment. The install is finished as soon as it can. Nothing more is to be done: you can close this page.</p>`,
  retryAfterSeconds: 30,
}

/** Another visit has used the code, and shows its outcome, too. */
const UNDER_WAY: InstallAnswer = {
  status: 503,
  title: 'Being connected',
  body: html`<p>The account is being connected. Keep this page open: it shows the outcome by itself.</p>`,
  retryAfterSeconds: 5,
  asksAgain: true,
}

/** A browser that reads ahead: nothing was redeemed, and a visit does it. */
export const PREFETCH: InstallAnswer = {
  status: 503,
  title: 'Not connected yet',
  body: html`<p>This page was only read ahead. Open it to connect the account.</p>`,
}

/** Neither code nor state was used: the same address may be asked again, for as long as the code lives. */
function waits(ms: number): InstallAnswer {
  const retryAfterSeconds = secondsOf(ms)
  return {
    status: 503,
    title: 'Not connected yet',
    body: html`<p>The provider takes no new connections at the moment. Keep this page open: it tries again by itself in ${countOf(retryAfterSeconds, 'second')}.</p>
<p><a href="">Try again now</a></p>`,
    retryAfterSeconds,
    asksAgain: true,
  }
}

function notTaken({ isSignIn, why }: NotTaken): InstallAnswer {
  const flow = `an install from the provider's marketplace${isSignIn ? ', with partner sign-in' : ''}`
  if (why === 'setting')
    return {
      status: 403,
      title: 'Not connected',
      body: html`<p>This is ${flow}. This server does not take those. Nothing was stored.</p>
<p>The operator of this server can allow them: provider.marketplaceInstall: true.</p>`,
    }
  return {
    status: 400,
    title: 'This link is not valid',
    body: html`<p>This is ${flow}. Its returnUrl does not lead to the provider's site. Nothing was stored.</p>`,
  }
}

function tooMany(ms: number, again: Html): InstallAnswer {
  const retryAfterSeconds = secondsOf(ms)
  return {
    status: 429,
    title: 'Too many attempts',
    body: html`<p>Too many installations from your address failed. Nothing was stored. Wait ${countOf(retryAfterSeconds, 'second')}, then start again.</p>
${again}`,
    retryAfterSeconds,
  }
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}

/** Meaning of the provider's refusal for the customer at the page. The provider's own words are in the log. */
function failed(failure: ProviderFailure, again: Html): InstallAnswer {
  switch (failure.class) {
    case 'rejected':
      return {
        status: 422,
        title: 'The provider did not accept the code',
        body: html`<p>It may have expired, or have been used before. Nothing was stored.</p>
${again}`,
      }
    case 'client':
    case 'unauthorized':
    case 'forbidden': {
      const toDo =
        causeOf(failure) === 'credentials'
          ? 'must check the client id, the client secret and the redirect address in its configuration'
          : "finds the provider's words in the log"
      return {
        status: 502,
        title: 'The provider does not accept this app',
        body: html`<p>Nothing was stored, and trying again will not help. The operator of this server ${toDo}.</p>`,
      }
    }
    case 'transient':
    case 'parked': {
      const retryAfterSeconds = secondsOf(failure.retryAfterMs ?? 30_000)
      return {
        status: 503,
        title: 'The provider could not be reached',
        body: html`<p>Nothing was stored. Try again in a moment.</p>
${again}`,
        retryAfterSeconds,
      }
    }
  }
}

/** The install page connects any account: a customer with a link for one account gets no link to it. */
function startAgain({ state }: Redirect): Html {
  return isOfReconnectLink(state)
    ? html`<p>To start again, open the link that was sent to you.</p>`
    : html`<p><a href="/install">Start again</a></p>`
}
