import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'
import type { SilenceView } from '../../../views/silenced.ts'
import { table } from './table.ts'
import { when } from './when.ts'

/** The silences in force. */
export function silenceTable(silences: readonly SilenceView[], now: number): Html {
  return table(
    'Silences in force',
    [
      { title: 'Silence' },
      { title: 'What' },
      { title: 'Why' },
      { title: 'By' },
      { title: 'Ends' },
      { title: 'Open alerts', number: true },
    ],
    silences.map(({ id, matchers, comment, author, endsAt, openAlerts }) => [
      html`<code id="${id}">${id}</code>`,
      cleanText(matchers.map(({ name, value }) => `${name}=${value}`).join(' '), 300),
      cleanText(comment, 500),
      cleanText(author),
      when(Date.parse(endsAt), now),
      String(openAlerts),
    ]),
  )
}
