import { endOf } from '../provider/dialects.ts'
import { type Check, critical, NOWHERE, warning } from './check.ts'

/** The provider goes on answering in the configured version of its interface. */
export const endDate: Check = {
  name: 'end-date',
  of: 'fleet',
  judge({ now, bounds: { api } }) {
    const { is, message, fix } = endOf(api, now)
    if (is === 'far') return []
    const trouble = is === 'over' ? critical : warning
    return [{ ...trouble('Change provider.api', message, NOWHERE), fix }]
  },
}
