import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ACKNOWLEDGE_PATH, type ReadAckLink } from '../../alerts/acknowledge.ts'
import { alertText } from '../../alerts/alert-title.ts'
import type { OpenAlert } from '../../alerts/open-alerts.ts'
import { LONGEST_AUTHOR } from '../../alerts/silence.ts'
import { acknowledgeAlert, showAlert } from '../../operations/alerts.ts'
import { NO_ACCOUNT } from '../../redis/steps.ts'
import { cleanText } from '../../text/clean-text.ts'
import { formatTime } from '../../text/format-time.ts'
import { type Html, html } from '../../text/html.ts'
import { accountText } from '../../views/alert-texts.ts'
import { addressOf } from '../access/client.ts'
import { FEW_FIELDS, OPEN_FORM, readForms } from '../access/forms.ts'
import { asProblem } from '../answer-error.ts'
import { requireRedis } from '../redis-away.ts'
import { runForPage } from '../run-for-page.ts'
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
  const answerBy = (answer: typeof ask) => async (request: FastifyRequest, reply: FastifyReply) => {
    const link = deps.ackLinks.read(request.query, deps.clock.now())
    if (link.is !== 'good') return send(reply, BAD_LINKS[link.is])
    await requireRedis(deps.store)
    try {
      return send(reply, await answer(deps, request, link))
    } catch (error) {
      const { status } = asProblem(error, deps)
      const [title, text] = IN_VAIN[status] ?? []
      if (title === undefined) throw error
      const body = html`<p>${text}</p>\n<p><a href="?${link.query}">Check it again</a></p>`
      return send(reply, { status, title, body })
    }
  }
  app.get(ACKNOWLEDGE_PATH, answerBy(ask))
  app.post(ACKNOWLEDGE_PATH, OPEN_FORM, answerBy(acknowledge))
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

/** The page of the alert, with one button; of one that is acknowledged, with who did it. */
async function ask(deps: WebDeps, request: FastifyRequest, link: GoodLink, title?: string): Promise<Answer> {
  const { value: alert, call } = await runForPage(showAlert, deps, alertOf(link), request)
  const { acknowledged, level } = alert
  if (acknowledged === undefined) {
    const body = html`${facts(alert, call.now)}
<form method="post" action="?${link.query}" class="form">
<input type="hidden" name="level" value="${level}">
<label>Your name <input name="by" maxlength="80" autocomplete="name"></label>
<label>Comment <input name="comment" maxlength="300" autocomplete="off"></label>
<div class="row"><button>Acknowledge</button></div>
</form>
<p class="soft">It is then not sent again until it gets worse. Opening this page has changed nothing.</p>`
    return { status: 200, title: 'Acknowledge this alert?', body }
  }
  const { by, at, until, comment } = acknowledged
  const body = html`${facts(alert, call.now)}
<p class="verdict good">Acknowledged by ${cleanText(by)} ${when(at, call.now)}${comment === undefined ? undefined : html`: ${cleanText(comment, 500)}`}. It is not sent again until ${formatTime(until)}, unless it gets worse.</p>`
  return { status: 200, title: title ?? 'Already acknowledged', body }
}

async function acknowledge(deps: WebDeps, request: FastifyRequest, link: GoodLink): Promise<Answer> {
  const body = (request.body ?? {}) as Record<string, unknown>
  const name = cleanText(String(body.by ?? ''), LONGEST_AUTHOR)
  // Marks the name as written by the holder: no admin token's name looks so, and a link proves no name.
  const by = name === '' ? 'the holder of the link' : `${name}, by link`
  const who = { name: by, via: 'link', from: addressOf(request) } as const
  const given = { ...body, ...alertOf(link), by: typeof (body.by ?? '') === 'string' ? by : body.by }
  const { value } = await runForPage(acknowledgeAlert, deps, given, request, who)
  return ask(deps, request, link, value.is === 'acknowledged' ? 'Acknowledged' : undefined)
}

type GoodLink = Extract<ReadAckLink, { is: 'good' }>

function alertOf({ hubId, alertId }: GoodLink): { id: string; hubId: string | undefined } {
  return { id: alertId, hubId: hubId === NO_ACCOUNT ? undefined : String(hubId) }
}

/** Why a good link does nothing. */
const IN_VAIN: Readonly<Record<number, readonly [title: string, text: string]>> = {
  404: ['This alert is not open any more', 'It was resolved. If it opens again, you get a new message.'],
  409: ['This alert got worse meanwhile', 'It is not acknowledged: its level is higher than the one that you saw.'],
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
