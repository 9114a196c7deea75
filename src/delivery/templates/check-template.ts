import { orFault, readTemplate, TemplateFault, type TemplateScope } from './liquid.ts'
import { sampleLinks, samplesOfAllKinds } from './sample-messages.ts'
import { messageScope } from './template-fields.ts'

const URL = 'https://plimsoll.example.com'

/** Every kind of message, as a template sees it. Made once: a config may have many templates. */
let samples: { name: string; scope: TemplateScope }[] | undefined

/** Why a template can't be used, by messages of every kind; undefined: it can. */
export function faultOfTemplate(source: string, as: 'text' | 'value' = 'text'): string | undefined {
  const context = { receiver: 'ops', home: `${URL}/`, links: sampleLinks(URL) }
  samples ??= samplesOfAllKinds().map(({ name, message }) => ({ name, scope: messageScope(message, context) }))
  const template = orFault(() => readTemplate(source, { mustExist: true }))
  if (template instanceof TemplateFault) return template.message
  for (const { name, scope } of samples) {
    const made = orFault(() => template[as](scope))
    if (made instanceof TemplateFault) return `${made.message}, with a message of ${name}`
  }
  return undefined
}
