import { readTemplate, TemplateFault, type TemplateScope } from './liquid.ts'
import { sampleLinks, samplesOfAllKinds } from './sample-messages.ts'
import { messageScope } from './template-fields.ts'

const URL = 'https://plimsoll.example.com'

/** Every kind of message, as a template sees it. Made once: a config may have many templates. */
let samples: { name: string; scope: TemplateScope }[] | undefined

/** Why a template can't be used, by messages of every kind; undefined: it can. */
export function faultOfTemplate(source: string, as: 'text' | 'value' = 'text'): string | undefined {
  const context = { receiver: 'ops', home: `${URL}/`, links: sampleLinks(URL) }
  samples ??= samplesOfAllKinds().map(({ name, message }) => ({ name, scope: messageScope(message, context) }))
  let of = ''
  try {
    const template = readTemplate(source, { mustExist: true })
    for (const { name, scope } of samples) {
      of = `, with a message of ${name}`
      template[as](scope)
    }
    return undefined
  } catch (error) {
    if (error instanceof TemplateFault) return error.message + of
    throw error
  }
}
