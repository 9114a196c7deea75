import { suggest } from '../src/text/suggest.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Interpolated {
  text: string
  /** Whether anything in it came from the environment: such text is never shown. */
  used: boolean
  /** The whole text was one `${NAME}`. */
  whole: boolean
  complaints: string[]
}

const REFERENCE = /\$(\$\{)|\$\{([^}]*)(\})?/g

/** `text` with every `${NAME}` replaced by the variable of that name; `$${` is `${` itself. */
export function interpolate(text: string, env: Environment): Interpolated {
  const complaints: string[] = []
  let used = false
  const filled = text.replace(REFERENCE, (reference, escaped?: string, name?: string, end?: string) => {
    if (escaped !== undefined) return escaped
    if (end === undefined || name === undefined || !/^[A-Za-z_]\w*$/.test(name)) {
      complaints.push(
        'a ${ starts the name of an environment variable, as in ${NAME}; for the two characters write $${',
      )
      return reference
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value === undefined) {
      const near = suggest(name, Object.keys(env))
      complaints.push(
        `the environment variable ${name} is not set${near === undefined ? '' : `, did you mean ${near}?`}`,
      )
      return reference
    }
    used = true
    return value
  })
  return { text: filled, used, whole: /^\$\{[^}]*\}$/.test(text), complaints }
}

/** What YAML would make of `text` in the file: for settings that are not text. */
export function asYamlScalar(text: string): string | number | boolean {
  const plain = text.trim()
  if (/^(true|false)$/i.test(plain)) return plain.toLowerCase() === 'true'
  if (/^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/.test(plain)) return Number(plain)
  return text
}
