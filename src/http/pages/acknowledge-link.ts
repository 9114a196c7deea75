import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { ACKNOWLEDGE_PATH } from '../../alerts/acknowledge.ts'
import { alertText } from '../../alerts/alert-title.ts'
import { acknowledgementOf, type OpenAlert, readOpenAlerts } from '../../alerts/open-alerts.ts'
import { cleanText } from '../../text/clean-text.ts'
import { formatMoment, formatTime } from '../../text/format-time.ts'
import { type Html, html } from '../../text/html.ts'
import { accountText } from '../../views/alert-texts.ts'
import { addressOf } from '../access/client.ts'
import { FEW_FIELDS, OPEN_FORM, readForms } from '../access/forms.ts'
import { check } from '../query.ts'
import { requireRedis } from '../redis-away.ts'
import type { WebDeps } from '../web-deps.ts'
import { plainPage, sendPage } from './page.ts'
import { levelBadge, when } from './parts/cells.ts'

/**
 * For people, by a signed link: in a mail, or on the page of alerts. Programs that follow links send GET and HEAD, which change
 * nothing. They don't press the page's button, which sends a POST.
 */
export function serveAcknowledgeLinks(app: FastifyInstance, deps: WebDeps): void {
  readForms(app, FEW_FIELDS)
  // Before anything of a body is read.
  app.addHook('onRequest', async ({ query }, reply) => {
    const link = deps.ackLinks.read(query, deps.clock.now())
    return link.is === 'good' ? undefined : send(reply, BAD_LINKS[link.is])
  })
  app.get(ACKNOWLEDGE_PATH, async (request, reply) => send(reply, await answerLink(deps, request, ask)))
  app.post(ACKNOWLEDGE_PATH, OPEN_FORM, async (request, reply) =>
    send(reply, await answerLink(deps, request, acknowledge)),
  )
}

interface Answer {
  status: number
  title: string
  body: Html
}

/** A page behind a link is for the link's holder, and for no search engine. */
function send(reply: FastifyReply, { status, title, body }: Answer): FastifyReply {
  reply.header('x-robots-tag', 'noindex, nofollow, noarchive')
  return sendPage(reply, status, plainPage({ title, body, noIndex: true }))
}

/** A good link, to an alert that is open. */
interface Followed {
  alert: OpenAlert
  hubId: number
  /** To the page that is shown: a proxy may have it under another path. */
  address: string
  now: number
}

async function answerLink(
  deps: WebDeps,
  request: FastifyRequest,
  answer: (deps: WebDeps, request: FastifyRequest, followed: Followed) => Promise<Answer>,
): Promise<Answer> {
  const now = deps.clock.now()
  const link = deps.ackLinks.read(request.query, now)
  if (link.is !== 'good') return BAD_LINKS[link.is]
  await requireRedis(deps.store)
  const { hubId, alertId, query } = link
  const alert = (await readOpenAlerts(deps.store, deps.keys, [hubId])).find(({ id }) => id === alertId)
  return alert === undefined ? NOT_OPEN : answer(deps, request, { alert, hubId, address: `?${query}`, now })
}

/** The page before: the alert, and one button. */
async function ask(_deps: WebDeps, _request: FastifyRequest, { alert, address, now }: Followed): Promise<Answer> {
  const { acknowledged } = alert
  if (acknowledged !== undefined && now < Date.parse(acknowledged.until)) return already(alert, acknowledged, now)
  return {
    status: 200,
    title: 'Acknowledge this alert?',
    body: html`${facts(alert, now)}
<form method="post" action="${address}" class="form">
<input type="hidden" name="level" value="${alert.level}">
<label>Your name <input name="by" maxlength="100" autocomplete="name"></label>
<label>Comment <input name="comment" maxlength="300" autocomplete="off"></label>
<div class="row"><button>Acknowledge</button></div>
</form>
<p class="soft">It is then not sent again until it gets worse. Opening this page has changed nothing.</p>`,
  }
}

/** Empty text counts as absent, and so does invisible text. */
const words = (most: number) =>
  z
    .string('must be a text')
    .trim()
    .max(most, `is longer than ${most} characters`)
    .transform((given) => cleanText(given, most) || undefined)
    .optional()

const FORM = z
  .object({ by: words(100), comment: words(500), level: z.enum(['warning', 'critical']).optional() })
  .optional()

async function acknowledge(deps: WebDeps, request: FastifyRequest, followed: Followed): Promise<Answer> {
  const { alert, hubId, address, now } = followed
  const { by: name, comment, level = alert.level } = check(FORM, request.body ?? undefined) ?? {}
  // Marks the name as written by the holder: no admin token's name looks so, and a link proves no name.
  const by = name === undefined ? 'the holder of the link' : `${name}, by link`
  const who = { name: by, via: 'link', from: addressOf(request) } as const
  const outcome = await deps.actions.acknowledge({ id: alert.id, hubId, level }, { by, comment }, who)
  switch (outcome.is) {
    case 'acknowledged': {
      const until = formatMoment(outcome.acknowledged.until)
      return {
        status: 200,
        title: 'Acknowledged',
        body: html`${facts(alert, now)}
<p class="verdict good">It is not sent again until ${until}, unless it gets worse. You can close this page.</p>`,
      }
    }
    case 'already':
      return already(alert, acknowledgementOf(outcome.acknowledged), now)
    case 'not-open':
      return NOT_OPEN
    case 'gone-worse':
      return {
        status: 409,
        title: 'This alert got worse meanwhile',
        body: html`<p>It is not acknowledged: it is at a higher level than the one you were shown.</p>
<p><a href="${address}">Check it again</a></p>`,
      }
  }
}

function already(alert: OpenAlert, acknowledged: NonNullable<OpenAlert['acknowledged']>, now: number): Answer {
  const { by, at, until, comment } = acknowledged
  return {
    status: 200,
    title: 'Already acknowledged',
    body: html`${facts(alert, now)}
<p>Acknowledged by ${cleanText(by)} ${when(at, now)}${comment === undefined ? undefined : html`: ${cleanText(comment, 500)}`}. It is not sent again until ${formatTime(until)}, unless it gets worse.</p>`,
  }
}

const NOT_OPEN: Answer = {
  status: 404,
  title: 'This alert is not open any more',
  body: html`<p>It was resolved, so there is nothing to acknowledge. If it opens again, you get a new message.</p>`,
}

const BAD_LINKS: Readonly<Record<'expired' | 'forged', Answer>> = {
  expired: {
    status: 410,
    title: 'This link has expired',
    body: html`<p>Nothing was changed. The newest message about the alert has a link that works, and so has the <a href="/alerts">page of open alerts</a>.</p>`,
  },
  forged: {
    status: 403,
    title: 'This link is not valid',
    body: html`<p>Nothing was changed. Part of it may be missing: open it from the message, or acknowledge the alert on the <a href="/alerts">page of open alerts</a>.</p>`,
  },
}

function facts(alert: OpenAlert, now: number): Html {
  const { hubId, hubDomain, level, rule, since } = alert
  const name = accountText(alert)
  const account = cleanText(hubDomain ?? '', 80) === '' ? name : `${name} (${hubId})`
  return html`<p>${levelBadge(level)} <b>${account}</b></p>
<p>${alertText(alert)}, since ${when(since, now)}. Rule: ${cleanText(rule)}.</p>`
}
