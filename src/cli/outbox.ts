import { setTimeout as pause } from 'node:timers/promises'
import { readOpenIds } from '../alerts/open-alerts.ts'
import { momentCell } from '../text/cells.ts'
import { countOf } from '../text/format-number.ts'
import type { Fact } from '../text/shown.ts'
import type { OutboxProofShape } from '../views/shapes/delivery.ts'
import { verifyOutbox } from '../views/verify-outbox.ts'
import type { CommonOptions } from './arguments.ts'
import { ExitCode, type Io, printJson } from './io.ts'
import { showProgress } from './progress.ts'
import { fact, printFacts } from './say.ts'
import { withStore } from './with-parts.ts'

/** Long enough for deliveries on the move to arrive. */
const BETWEEN_LOOKS_MS = 300
/** Named one by one. */
const MOST_NAMED = 50

/** `plimsoll outbox verify`. */
export async function verify(io: Io, options: CommonOptions): Promise<void> {
  const proof = await withStore(io, options, async ({ store, keys, registry, clock }) => {
    const progress = showProgress(io, 'alerts compared')
    const deps = { store, keys, now: () => clock.now(), pause: () => pause(BETWEEN_LOOKS_MS) }
    const readOpen = async () => readOpenIds(store, keys, await registry.alerting())
    return verifyOutbox({ ...deps, readOpen }).finally(progress.end)
  })
  if (options.json === true) printJson(io, 'outbox verify', proof)
  else printFacts(io, factsOf(proof))
  if (!proof.balanced) throw new ExitCode(1)
}

function factsOf(proof: OutboxProofShape): Fact[] {
  const { open, waits, inOutbox, waiting, deliveries, dead, balanced, oldestPendingAt, missing, unresolved } = proof
  const places = [
    [inOutbox, 'new'],
    [waiting, 'waiting'],
    [deliveries, 'in messages'],
  ] as const
  return [
    ['open', countOf(open, 'alert')],
    ['on their way', places.flatMap(([number, place]) => (number > 0 ? [`${number} ${place}`] : [])).join(', ')],
    ['oldest pending', momentCell(oldestPendingAt)],
    ['dead', dead > 0 ? `${countOf(dead, 'message')}: ${DEAD_WAY_OUT}` : ''],
    ['balanced', balanced ? 'yes: every receiver knows, or waits' : `no: ${MISSING_WAY_OUT}`],
    ...missing.slice(0, MOST_NAMED).map(missingText).map(fact('missing')),
    ...unresolved.slice(0, MOST_NAMED).map(unresolvedText).map(fact('unresolved')),
    ...waits.slice(0, MOST_NAMED).map(waitsText).map(fact('waits')),
    ['more', [waits, missing, unresolved].some(({ length }) => length > MOST_NAMED) ? '--json has all of them' : ''],
  ]
}

const DEAD_WAY_OUT = 'plimsoll alerts log shows why; plimsoll outbox replay --since 3d sends them again'
const MISSING_WAY_OUT =
  'was Redis restored, or did it lose writes? plimsoll alerts list shows what still fires: it is sent again after alerts.repeatEvery'

type Of = OutboxProofShape['missing'][number]

function missingText({ receiver, alert }: Of): string {
  return `${receiver} was sent alert ${alert}, which is open, and does not know of it`
}

function unresolvedText({ receiver, alert }: Of): string {
  return `${receiver} was sent alert ${alert} as firing; it is over, and no end is on its way`
}

function waitsText({ receiver, alert, why }: OutboxProofShape['waits'][number]): string {
  return `${receiver} does not know of alert ${alert} yet: ${why}`
}
