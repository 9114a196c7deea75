import { inOrder, type Message } from '../../../alerts/alert.ts'
import { shorten } from '../../../text/clean-text.ts'
import { countOf } from '../../../text/format-number.ts'
import { formatTime } from '../../../text/format-time.ts'
import { type DescribedAlert, describeAlert, worstDescribed } from '../../describe/describe-alert.ts'
import { changesBlock, describeChanges } from '../../describe/describe-changes.ts'
import { RECONNECT } from '../../describe/mail-links.ts'
import { MARK, withoutMarkup } from '../../describe/outline.ts'
import { subjectLine } from '../../describe/subject.ts'
import type { TemplateTexts } from '../../templates/message-template.ts'
import type { BodyContext } from '../receiver-kind.ts'

/** Slack's own limits: a longer message is refused whole. */
const MOST_BLOCKS = 50
const MOST_HEADER = 150
export const MOST_TEXT = 3_000
const MOST_FIELD = 2_000
const MOST_FIELDS = 10
/** Two blocks each; header, changes, what is left out and the footer need room too. */
const MOST_ACCOUNTS = Math.floor((MOST_BLOCKS - 4) / 2)
const MOST_OF_ONE = 10
const MOST_RECORDS = 20

/**
 * A message for an incoming webhook of Slack. Whatever may hold a stranger's words is `plain_text`, which Slack shows as it
 * stands: no label makes a link, calls a channel or puts on bold. Other services that take this shape show `text` alone,
 * so that is whole in itself.
 */
export function slackBody(message: Message, context: BodyContext, { title, body }: TemplateTexts = {}): string {
  const subject = title ?? subjectLine(message)
  const changed = message.data.changed === undefined ? [] : [changesBlock(describeChanges(message.data.changed))]
  return JSON.stringify({
    text: escaped(withoutMarkup(subject)),
    blocks: [
      { type: 'header', text: plain(subject, MOST_HEADER) },
      ...(body === undefined ? [...changed.map(section), ...alertBlocks(message, context)] : [ownBody(body)]),
      footer(`Sent by Plimsoll, ${formatTime(message.timestamp)}.`),
    ],
  })
}

/** By a template of the config: its signs are markup, and what its fields put in is escaped. */
function ownBody(body: string) {
  return { type: 'section', text: { type: 'mrkdwn', text: body, verbatim: true } }
}

function alertBlocks(message: Message, { home, links }: BodyContext): object[] {
  const byAccount = Map.groupBy(inOrder(message), ({ account }) => account?.hubId)
  const accounts = [...byAccount.values()].map((own) =>
    own.map((alert) => describeAlert(alert, Date.parse(message.timestamp), links)),
  )
  const shown = accounts.slice(0, MOST_ACCOUNTS)
  const left = accounts.slice(MOST_ACCOUNTS).flat().length + message.data.truncated
  return [
    ...shown.flatMap((own) => (message.data.alerts.length === 1 ? own.flatMap(wholeAlert) : blockOf(own))),
    ...(left > 0 ? [footer(`${countOf(left, 'more alert')} not shown: ${link(home, 'status page')}`)] : []),
  ]
}

function wholeAlert({ badge, happened, facts, records, actions }: DescribedAlert): object[] {
  const fields = facts.slice(0, MOST_FIELDS).map(({ name, value }) => plain(`${name}\n${value}`, MOST_FIELD))
  return [
    { ...section(`${MARK[badge]} ${happened}`), ...(fields.length > 0 && { fields }) },
    ...(records === undefined ? [] : [section(recordLines(records))]),
    ...linksOf(actions),
  ]
}

/** One account: its alerts a line each, and the links of the worst. */
function blockOf(own: readonly DescribedAlert[]): object[] {
  const lines = own.slice(0, MOST_OF_ONE).map(({ badge, headline }) => `${MARK[badge]} ${badge} ${headline}`)
  const more = own.length > lines.length ? [countOf(own.length - lines.length, 'more alert')] : []
  const worst = worstDescribed(own)
  const actions = own.flatMap((one) =>
    one.actions.filter(({ name }, n) => (one === worst && n === 0) || name === RECONNECT),
  )
  return [section([own[0]?.subject ?? '', ...lines, ...more].join('\n')), ...linksOf(actions.slice(0, 2))]
}

function linksOf(actions: DescribedAlert['actions']): object[] {
  return actions.length === 0 ? [] : [footer(actions.map(({ name, url }) => link(url, name)).join(' · '))]
}

function recordLines({ note, rows }: NonNullable<DescribedAlert['records']>): string {
  const lines = rows
    .slice(0, MOST_RECORDS)
    .map(({ label, id, usage }) => `• ${label === undefined ? '' : `${label} `}#${id} ${usage}`)
  return [`Records (${note})`, ...lines].join('\n')
}

function section(text: string) {
  return { type: 'section', text: plain(text, MOST_TEXT) }
}

function plain(text: string, most: number) {
  return { type: 'plain_text', text: shorten(text, most), emoji: false }
}

/** Only for text of our own: Slack reads its markup. */
function footer(markup: string) {
  return { type: 'context', elements: [{ type: 'mrkdwn', text: markup, verbatim: true }] }
}

function link(url: string, text: string): string {
  return `<${escaped(url.replaceAll('|', '%7C'))}|${text}>`
}

/** Slack's three: without them nothing is a link, and nobody is mentioned. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
