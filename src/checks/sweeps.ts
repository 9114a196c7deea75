import { isSilent } from '../heartbeat/daemons.ts'
import { cleanText } from '../text/clean-text.ts'
import { type Check, critical, NOWHERE, type OwnFinding, SEE_LOG, workFinding } from './check.ts'
import type { FleetFacts } from './facts.ts'
import { judgeLate } from './late.ts'
import { canMove, movesSince, type ProcessFacts } from './process-facts.ts'

/** The sweeps of a daemon that ticks and works; the ticks of one that leaves the work to others. */
export const ownSweeps: Check = {
  name: 'sweeps',
  of: 'process',
  judge(facts) {
    const { lastSweeps, expected, ticks } = facts
    if (!canMove(facts)) return []
    return [
      ...judgeOwn(facts, 'sweep', 'finished', lastSweeps, expected),
      ...judgeOwn(facts, 'tick', 'handed on', ticks?.last ?? {}, ticks?.expected ?? {}),
    ]
  },
}

function judgeOwn(
  facts: ProcessFacts,
  what: 'sweep' | 'tick',
  done: string,
  last: ProcessFacts['lastSweeps'],
  expected: ProcessFacts['expected'],
): OwnFinding[] {
  const [{ now, startedAt }, since] = [facts, movesSince(facts)]
  return Object.entries(expected).map(([kind, periodMs]) => {
    if (startedAt === undefined) return workFinding(`${what}:${kind}`, true, 'not expected before the start')
    const { isLate, says } = judgeLate({ now, last: last[kind], since, periodMs, done })
    return workFinding(`${what}:${kind}`, !isLate, says)
  })
}

/**
 * Findings of the daemons at work, and sweeps that none of them finishes: one trouble, since one cause has many signs.
 */
export const work: Check = {
  name: 'work',
  of: 'fleet',
  judge(facts) {
    const found = new Map([...lateSweeps(facts), ...reported(facts)])
    const [first, ...others] = [...found]
    if (first === undefined) return []
    const names = [...found.keys()]
    const also = others.length === 0 ? '' : `; also ${names.slice(1).join(', ')}`
    const says = cleanText(`${first[0]}: ${first[1]}${also}`, 300)
    const outside = cleanText(`Work does not move: ${names.join(', ')}. ${SEE_LOG}`, 300)
    return [{ ...critical('Fix the daemon', says, NOWHERE), fix: SEE_LOG, outside }]
  },
}

/** Names of what the daemons at work report of themselves, with what they say. */
function reported({ now, daemons }: FleetFacts): [name: string, says: string][] {
  const atWork = daemons.filter((daemon) => !isSilent(daemon, now))
  return atWork.flatMap(({ name, ill = [] }) =>
    ill.map((one): [string, string] => [one.name, atWork.length === 1 ? one.says : `${one.says} (${name})`]),
  )
}

/** By the longest pause that a daemon at work expects: daemons of other versions expect none. */
function lateSweeps({ now, daemons, lastSweeps }: FleetFacts): [name: string, says: string][] {
  const working = daemons.filter((daemon) => !isSilent(daemon, now)).flatMap(({ sweeps }) => sweeps ?? [])
  const since = Math.min(...working.map((one) => one.since))
  const kinds = new Set(working.flatMap(({ pauses }) => Object.keys(pauses)))
  return [...kinds].flatMap((kind) => {
    const periodMs = Math.max(...working.map(({ pauses }) => pauses[kind] ?? 0))
    const { isLate, says } = judgeLate({ now, last: lastSweeps[kind], since, periodMs, done: 'finished' })
    return isLate ? [[`sweep:${kind}`, says] as [string, string]] : []
  })
}
