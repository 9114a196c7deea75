import * as z from 'zod'
import { isGroup } from '../../../../config/schema/values.ts'
import type { Message } from '../../../alerts/alert.ts'
import { Secret } from '../../../runtime/secret.ts'
import { fitAlerts } from '../../describe/fit-alerts.ts'
import { faultOfTemplate } from '../../templates/check-template.ts'
import { orFault, readTemplate, TemplateFault, type TemplateScope, type TemplateValue } from '../../templates/liquid.ts'
import { messageScope } from '../../templates/template-fields.ts'
import type { BodyContext } from '../receiver-kind.ts'

/** Larger bodies are refused by many. */
const MOST_CHARACTERS = 500_000
/** Each may take a while. */
const MOST_TEXTS = 200
const SHOWN_SECRET = '[secret]'

/**
 * A structure whose texts are templates, each checked with messages of every kind. A text with a value from the environment is
 * a secret, and sent as it is.
 */
export function payload() {
  const structure = z.unknown().superRefine((given, context) => {
    if (typeof given !== 'object' || given === null || given instanceof Secret)
      context.addIssue({ code: 'custom', message: 'must be a group or a list' })
    if (countTexts(given) > MOST_TEXTS) {
      context.addIssue({ code: 'custom', message: `must have at most ${MOST_TEXTS} texts` })
      return
    }
    for (const { path, message } of faultsIn(given, [])) context.addIssue({ code: 'custom', path: [...path], message })
  })
  return z
    .codec(structure, z.custom<object>(), { decode: (given) => given as object, encode: shownOf })
    .meta({ type: ['object', 'array'] })
}

function* faultsIn(
  given: unknown,
  path: (string | number)[],
): Iterable<{ path: (string | number)[]; message: string }> {
  if (Array.isArray(given)) {
    for (const [n, one] of given.entries()) yield* faultsIn(one, [...path, n])
  } else if (typeof given === 'string') {
    const message = faultOfTemplate(given, 'value')
    if (message !== undefined) yield { path, message }
  } else if (given instanceof Secret) {
    if (/\{[{%]/.test(given.reveal()))
      yield { path, message: 'has a value from the environment, so it is no template: give each a name of its own' }
  } else if (isGroup(given)) {
    for (const [name, one] of Object.entries(given)) {
      if (/\{[{%]/.test(name)) yield { path: [...path, name], message: 'a name is no template' }
      yield* faultsIn(one, [...path, name])
    }
  }
}

function shownOf(given: unknown): TemplateValue {
  return mapLeaves(given, (leaf) => (leaf instanceof Secret ? SHOWN_SECRET : leaf))
}

function countTexts(given: unknown): number {
  let count = 0
  mapLeaves(given, (leaf) => {
    if (typeof leaf === 'string') count++
    return null
  })
  return count
}

type Leaf = string | number | boolean | null | Secret

function mapLeaves(given: unknown, map: (leaf: Leaf) => TemplateValue): TemplateValue {
  if (Array.isArray(given)) return given.map((one) => mapLeaves(one, map))
  if (given instanceof Secret || given === null) return map(given)
  if (typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean') return map(given)
  if (!isGroup(given)) return null
  return Object.fromEntries(Object.entries(given).map(([name, one]) => [name, mapLeaves(one, map)]))
}

/** Bodies of messages: valid JSON, whatever is in a field. They throw a `TemplateFault`. */
export function payloadBody(given: unknown, context: Omit<BodyContext, 'groupBy'>) {
  const templates = new Map<string, ReturnType<typeof readTemplate>>()
  mapLeaves(given, (leaf) => {
    if (typeof leaf === 'string') templates.set(leaf, readTemplate(leaf))
    return null
  })
  const bodyOf = (scope: TemplateScope, showSecret: (secret: Secret) => string): string =>
    JSON.stringify(
      mapLeaves(given, (leaf) => {
        if (leaf instanceof Secret) return showSecret(leaf)
        return typeof leaf === 'string' ? (templates.get(leaf)?.value(scope) ?? null) : leaf
      }),
    )
  const fitted = (message: Message, showSecret: (secret: Secret) => string): string => {
    const make = (shown: Message) => orFault(() => bodyOf(messageScope(shown, context), showSecret))
    const fits = (body: string | TemplateFault) => typeof body === 'string' && body.length <= MOST_CHARACTERS
    const made = fitAlerts(message, make, fits, 1)
    if (typeof made !== 'string') throw made
    if (!fits(made)) throw new TemplateFault('becomes too long')
    return made
  }
  return {
    body: (message: Message) => fitted(message, (secret) => secret.reveal()),
    shown: (message: Message) => fitted(message, () => SHOWN_SECRET),
  }
}
