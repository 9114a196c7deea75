import { readChanges } from '../alerts/read-changes.ts'
import { describeChanges } from '../delivery/email/describe-changes.ts'
import type { CommonOptions, Moment } from './arguments.ts'
import { type Io, printJson } from './io.ts'
import { say } from './say.ts'
import { named, printTable, prose, spare, whole } from './table.ts'
import { withStore } from './with-parts.ts'

/** `plimsoll changes`: what moved in all accounts since a moment, the worst first. */
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
  for (const { title, changes: of } of groups) {
    io.out('\n')
    say(io, title)
    const hasWhat = of.some(({ what }) => what !== '')
    printTable(
      io,
      [named('ACCOUNT'), ...(hasWhat ? [named('WHAT')] : []), prose('CHANGE'), spare(whole('AT'))],
      of.map(({ subject, what, moved, at }) => [subject, ...(hasWhat ? [what] : []), moved, at]),
    )
  }
}
