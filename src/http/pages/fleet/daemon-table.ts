import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'
import type { DaemonStatus } from '../../../views/daemon-status.ts'
import { table } from '../parts/table.ts'
import { when } from '../parts/when.ts'

/** Who is running; one that fell silent is shown for a day. */
export function daemonTable(daemons: readonly DaemonStatus[], now: number): Html {
  return table(
    'Running daemons',
    [{ title: 'Daemon' }, { title: 'Version' }, { title: 'Does' }, { title: 'Started' }, { title: 'Last seen' }],
    daemons.map(({ name, version, roles, startedAt, lastSeenAt, silent }) => [
      cleanText(name, 80),
      cleanText(version, 40),
      roles.join(', '),
      when(Date.parse(startedAt), now),
      silent
        ? html`<span class="badge critical">silent</span> ${when(Date.parse(lastSeenAt), now)}`
        : when(Date.parse(lastSeenAt), now),
    ]),
  )
}
