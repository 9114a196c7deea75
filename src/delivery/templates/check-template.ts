import { readTemplate, TemplateFault, type TemplateScope, type TemplateValue } from './liquid.ts'
import { moreSamples, SAMPLE_NAMES, sampleLinks, sampleMessage } from './sample-messages.ts'
import { messageScope } from './template-fields.ts'

const URL = 'https://plimsoll.example.com'

/** Every kind of message, as a template sees it. Made once: a config may have many templates. */
let samples: { name: string; scope: TemplateScope; known: TemplateScope | undefined }[] | undefined

/** Why a template can't be used, by reading it and by messages of every kind; undefined: it can. */
export function faultOfTemplate(source: string, as: 'text' | 'value' = 'text'): string | undefined {
  const faultIn = (work: () => unknown): string | undefined => {
    try {
      work()
      return undefined
    } catch (error) {
      if (error instanceof TemplateFault) return error.message
      throw error
    }
  }
  const unreadable = faultIn(() => readTemplate(source))
  if (unreadable !== undefined) return unreadable
  const [everyBranch, asSent] = [readTemplate(source, { everyBranch: true }), readTemplate(source)]
  samples ??= everySample()
  for (const { name, scope, known } of samples) {
    // A name that is nowhere is the same fault in all.
    const fault = known === undefined ? undefined : faultIn(() => everyBranch[as](known))
    if (fault !== undefined) return fault
    const atSending = faultIn(() => asSent[as](scope))
    if (atSending !== undefined) return `${atSending}, with a message of ${name}`
  }
  return undefined
}

function everySample(): NonNullable<typeof samples> {
  const context = { receiver: 'ops', home: `${URL}/`, links: sampleLinks(URL) }
  const named = SAMPLE_NAMES.map((name) => ({ name: `the kind ${name}`, message: sampleMessage(name) }))
  return [...named, ...moreSamples()].map(({ name, message }) => {
    const scope = messageScope(message, context)
    // Every branch for each of many alerts is more than any message has.
    const isLarge = message.data.alerts.length > 2
    return { name, scope, known: isLarge ? undefined : (strictScope(scope) as TemplateScope) }
  })
}

/** The same scope, in which an unknown field is a fault. The library reads only fields that an object itself has. */
function strictScope(value: TemplateValue): TemplateValue {
  if (Array.isArray(value)) return value.map(strictScope)
  if (typeof value !== 'object' || value === null) return value
  const inside = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, strictScope(one)]))
  return new Proxy(inside, {
    getOwnPropertyDescriptor(fields, name) {
      if (typeof name === 'string' && !Object.hasOwn(fields, name)) throw new TemplateFault(`there is no field ${name}`)
      return Reflect.getOwnPropertyDescriptor(fields, name)
    },
  })
}
