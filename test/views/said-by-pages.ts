/** Where a line of a page ends. */
const BLOCK = /<\/(p|li|tr|h1|h2|h3|dt|dd|summary|caption|figcaption|form|fieldset|label|section|legend)>/g
/** What tells people how grave something is. */
const LOOK = /<(\w+)[^>]* class="([^"]*\b(?:critical|warning|good|off|fault|is-warning)\b[^"]*)"[^>]*>/g
const FIELD = /<(?:input|textarea|select)[^>]*? name="([^"]*)"(?:[^>]*? value="([^"]*)")?[^>]*>/g

/** What a page says, line by line: its words, where its links lead, its fields and how grave it looks. */
export function saidBy(page: string): string[] {
  const [, main = page] = /<main[^>]*>([\s\S]*)<\/main>/.exec(page) ?? []
  const [health = ''] = /<p class="health[^>]*>.*?<\/p>/.exec(page) ?? []
  return `${health}${main}`
    .replace(/<svg[\s\S]*?<\/svg>/g, ' (chart) ')
    .replace(/<option[^>]*?( selected)?>(.*?)<\/option>/g, (_, selected, name) =>
      selected ? ` =${name}` : ` /${name}`,
    )
    .replace(/<input[^>]*name="csrf"[^>]*>/g, '')
    .replace(FIELD, (_, name, value) => ` {${name}${value === undefined ? '' : `: ${value}`}} `)
    .replace(LOOK, (_, tag, look) => (tag === 'path' ? '' : ` (${look}) `))
    .replace(/<a [^>]*href="([^"]*)"[^>]*>/g, (_, href) => ` ->${href} `)
    .replace(/<button[^>]*>/g, ' [button] ')
    .replace(/\s+/g, ' ')
    .replace(BLOCK, '\n')
    .replace(/<[^>]+>/g, ' ')
    .replace(/signature=[\w-]+/g, 'signature=...')
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
}
