import { matchesAccount } from '../accounts/match-account.ts'
import type { AlertKind } from '../alerts/alert.ts'
import { ruleName } from '../alerts/evaluation/rules.ts'
import { receiversOf } from '../alerts/route.ts'
import type { AccountShape } from './shapes/account.ts'
import type { NotifiedShape } from './shapes/rules.ts'
import type { RuleSet } from './view-deps.ts'

/** Alerts about the account itself, which no threshold decides: their rule is their kind. */
const OWN = { token: 'tokens', poll: 'polls' } as const

/** The receivers of an account's alerts by their level, a line for each set of receivers, by the routes in force. */
export function whoIsNotified(
  { rules, routes }: Pick<RuleSet, 'rules' | 'routes'>,
  { hubId, hubDomain, contact }: Pick<AccountShape, 'hubId' | 'hubDomain' | 'contact'>,
): NotifiedShape[] {
  const account = { hubId, hubDomain }
  return (['critical', 'warning'] as const).flatMap((level) => {
    const asked = (kind: AlertKind, rule: string, about: string) => {
      return { about, receivers: receiversOf(routes, { kind, level, rule, account }, contact !== null) }
    }
    const limits = rules
      .filter((rule) => rule[level] !== undefined && matchesAccount(rule.match ?? {}, account))
      .map((rule) => asked('limit', rule.name, ruleName(rule)))
    const own = Object.entries(OWN).map(([kind, about]) => asked(kind as AlertKind, kind, about))
    return [...Map.groupBy([...limits, ...own], ({ receivers }) => receivers.join('\n')).values()].map((some) => {
      const isEveryLimit = limits.length > 0 && limits.every((one) => some.includes(one))
      const others = some.filter((one) => !isEveryLimit || !limits.includes(one)).map(({ about }) => about)
      return {
        level,
        about: [...new Set([...(isEveryLimit ? ['limits'] : []), ...others])],
        receivers: [...(some[0]?.receivers ?? [])],
      }
    })
  })
}
