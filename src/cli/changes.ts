import { readChanges } from '../alerts/read-changes.ts'
import { changeText, describeChanges } from '../delivery/describe/describe-changes.ts'
import type { Moment } from '../operations/field.ts'
import { named, prose, spare, whole } from '../text/columns.ts'
import type { CommonOptions } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { printTable } from './table.ts'
import { withStore } from './with-parts.ts'

/** `plimsoll changes`: what moved in all accounts since a moment, a line for each account, the worst first. */
export async function listChanges(io: Io, options: CommonOptions & { since: Moment }): Promise<void> {
  const until = io.clock.now()
  const mostOfEach = Number.POSITIVE_INFINITY
  const changes = await withStore(io, options, (parts) =>
    readChanges(parts, { since: options.since(until), until, mostOfEach }),
  )
  if (options.json === true) return printJson(io, 'changes', changes)
  const { line, note, groups } = describeChanges(changes)
  say(io, line)
  if (note !== undefined) io.err(`plimsoll: ${note.charAt(0).toLowerCase()}${note.slice(1)}\n`)
  for (const { title, accounts } of groups) {
    io.out('\n')
    say(io, title)
    const hasMore = accounts.some(({ others }) => others.length > 0)
    printTable(
      io,
      [
        named('ACCOUNT'),
        ...(hasMore ? [prose('CHANGES'), prose('WORST CHANGE')] : [prose('CHANGE')]),
        spare(whole('AT')),
      ],
      accounts.map((one) => [one.subject, ...(hasMore ? [one.counted] : []), changeText(one), one.at]),
    )
  }
}
