import type { Logger } from '../src/runtime/logger.ts'

/** `disagreement`: what `disagreeingPercentage` found. */
export function logDisagreement(log: Logger, hubId: number, disagreement: string | undefined): void {
  if (disagreement === undefined) return
  log.warn({ code: 'poll.percentage', hubId }, `${disagreement} %: computed from usage and limit instead`)
}
