import type { Alert } from '../../alerts/alert.ts'

/**
 * What to type to hear no more of an alert for a while. It is copied into a shell: whatever could mean something there, as
 * strangers' words may, gives no command rather than a wrong one, and so does what is too long to be a name.
 */
export function silenceCommand({ kind, account, series }: Alert): string | undefined {
  const matchers: [string, string | undefined][] =
    series === undefined
      ? [
          ['account', account && String(account.hubId)],
          ['kind', kind],
        ]
      : [
          ['account', account && String(account.hubId)],
          ['series', series.metric],
          ['objectType', series.objectTypeId],
          ['from', series.from],
          ['to', series.to],
          ...(kind === 'limit' ? [] : [['kind', kind] satisfies [string, string]]),
        ]
  const given = matchers.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
  if (kind === 'test' || given.some(({ value }) => !/^[A-Za-z0-9][\w.-]{0,60}$/.test(value))) return undefined
  return `plimsoll alerts silence ${given.map(({ name, value }) => `--match ${name}=${value}`).join(' ')} --for 2h --comment "..."`
}
