import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'
import type { SilenceView } from '../../../views/silenced.ts'
import { formTokenField } from '../../access/form-token.ts'
import { table } from './table.ts'
import { when } from './when.ts'

/** The silences in force; `token`: of the forms that end one, for whoever may. */
export function silenceTable(silences: readonly SilenceView[], now: number, token?: string): Html {
  return table(
    'Silences in force',
    [
      { title: 'Silence' },
      { title: 'What' },
      { title: 'Why' },
      { title: 'By' },
      { title: 'Ends' },
      { title: 'Open alerts', number: true },
      ...(token === undefined ? [] : [{ title: 'To do' }]),
    ],
    silences.map(({ id, matchers, comment, author, endsAt, openAlerts }) => [
      html`<code id="${id}">${id}</code>`,
      cleanText(matchers.map(({ name, value }) => `${name}=${value}`).join(' '), 300),
      cleanText(comment, 500),
      cleanText(author),
      when(Date.parse(endsAt), now),
      String(openAlerts),
      ...(token === undefined ? [] : [endNow(id, token)]),
    ]),
  )
}

function endNow(id: string, token: string): Html {
  return html`<form method="post" action="/silences/${id}/end">${formTokenField(token)}<button class="small">End now<span class="unseen"> ${id}</span></button></form>`
}
