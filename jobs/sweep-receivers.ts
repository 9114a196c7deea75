import type { News } from '../src/alerts/kinds/notified-alert.ts'
import { endLostAlerts } from '../src/alerts/sending/end-lost-alerts.ts'
import { describeGone, describeOver, judgeReceiver, type ReceiverHealth } from '../src/delivery/receiver-health.ts'
import type { JobDeps } from './job-deps.ts'

type ReceiversWork = Pick<
  JobDeps,
  'receivers' | 'receiverStore' | 'announceDelivery' | 'sending' | 'queues' | 'clock' | 'log'
>

/**
 * Judges each receiver by what its attempts left in Redis: after a crash the next sweep finds
 * the same. One that fails is one alert to the others. Alerts that it has, and nothing else does, are ended. The clock
 * brings the next sweep.
 */
export async function sweepReceivers(deps: ReceiversWork): Promise<undefined> {
  const { receiverStore, clock } = deps
  const now = clock.now()
  await receiverStore.see([...deps.receivers.keys()], now)
  const [healths, states] = await Promise.all([receiverStore.read(), receiverStore.alertStates()])
  for (const health of healths) await tellOf(deps, health, states.get(health.receiver) ?? '', now)
  for (const [receiver, stored] of states) {
    if (!healths.some((health) => health.receiver === receiver)) await tellGone(deps, receiver, stored, now)
  }
  if ((await endLostAlerts(deps.sending, now)) > 0) await deps.queues.wake('alerts', now)
}

async function tellOf(deps: ReceiversWork, health: ReceiverHealth, stored: string, now: number): Promise<void> {
  const trouble = judgeReceiver(health, now)
  if (trouble === undefined && stored === '') return
  const { receiver } = health
  const news =
    trouble === undefined
      ? ({ is: 'over', message: describeOver(health) } as const)
      : ({ is: 'firing', level: trouble.level, cause: trouble.is, message: trouble.message } as const)
  if (!(await announce(deps, { receiver, stored }, news, now))) return
  if (trouble === undefined) deps.log.info({ code: 'receiver.recovered', receiver }, news.message)
  else deps.log.error({ code: `receiver.${trouble.is}`, receiver }, news.message)
}

async function tellGone(deps: ReceiversWork, receiver: string, stored: string, now: number): Promise<void> {
  const message = describeGone(receiver)
  if (await announce(deps, { receiver, stored }, { is: 'over', message }, now))
    deps.log.info({ code: 'receiver.gone', receiver }, message)
}

/** False: there was no change, or another daemon that swept at the same time committed it. */
async function announce(
  { announceDelivery, receiverStore, queues }: ReceiversWork,
  { receiver, stored }: { receiver: string; stored: string },
  news: News,
  now: number,
): Promise<boolean> {
  const writes = announceDelivery(receiver, stored, news, now)
  if (writes.changes.length === 0 || (await receiverStore.changeAlert(writes)) === 'stale') return false
  await queues.wake('alerts', now)
  return true
}
