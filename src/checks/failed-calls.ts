import { callsText, judgeCalls } from '../heartbeat/failed-calls.ts'
import { type Check, NOWHERE, warning } from './check.ts'

/**
 * The app's calls fail no more often than the provider allows. The alert takes the place of this check, once a daemon
 * has opened it.
 */
export const failedCalls: Check = {
  name: 'calls',
  of: 'fleet',
  judge({ failedCalls, announced }) {
    if (announced.has('calls') || judgeCalls(failedCalls, failedCalls, undefined) === undefined) return []
    const fix = 'plimsoll_provider_requests_total shows which calls fail'
    return [{ ...warning('Check failed calls', callsText(failedCalls), NOWHERE), fix }]
  },
}
