import { resolve } from 'node:path'
import type * as z from 'zod'
import { Secret } from '../../src/runtime/secret.ts'
import { type ConfigProblem, type Path, type Position, renderPath, unknownName } from './problems.ts'
import { type ConfigShape, namesIn, secretForm, secretOfTwin, shapeOf } from './shape.ts'
import { asYamlScalar, type Entry, type Environment, interpolate, type Node } from './yaml-source.ts'

export interface Surroundings {
  env: Environment
  /** Folder that relative paths start from. */
  folder: string
  readFile: (path: string) => string
}

/** The file with everything from outside it filled in, ready for the schema, and where each value came from. */
export interface FilledIn {
  data: unknown
  problems: ConfigProblem[]
  /** Places of values, by rendered path. */
  positions: ReadonlyMap<string, Position>
  /** Paths whose value came from outside the file: it is never shown. */
  foreign: ReadonlySet<string>
  /** Secrets that were read from a file: the path of the secret, and that of the setting which named the file. */
  twins: ReadonlyMap<string, string>
}

/**
 * Puts environment variables and secrets' files in their places. It goes along the schema, because only the schema
 * knows that `12345` is meant as text, that `keyFile` replaces `key`, and which names there are.
 */
export function fillIn(root: Node, schema: z.core.$ZodType, world: Surroundings): FilledIn {
  const filling = new Filling(world, schema)
  const data = filling.take(root, schema, [])
  return { data, ...filling }
}

/** A group that is filled in, as far as it is. */
interface Group {
  settings: Readonly<Record<string, z.core.$ZodType>>
  path: Path
  data: Record<string, unknown>
}

/** A setting that names the file of the secret `name`. */
interface Twin {
  name: string
  schema: z.core.$ZodType | undefined
  path: Path
  at: Position
}

class Filling {
  readonly problems: ConfigProblem[] = []
  readonly positions = new Map<string, Position>()
  readonly foreign = new Set<string>()
  readonly twins = new Map<string, string>()
  readonly #world: Surroundings
  readonly #root: z.core.$ZodType

  constructor(world: Surroundings, root: z.core.$ZodType) {
    this.#world = world
    this.#root = root
  }

  take(node: Node, schema: z.core.$ZodType, path: Path): unknown {
    this.positions.set(renderPath(path), node.at)
    const shape = shapeOf(schema)
    if (shape.kind === 'value' && shape.form.structure) return this.#structure(node, path)
    const one = shape.kind === 'list' && shape.oneOrMany ? shapeOf(shape.item) : undefined
    if (node.kind === 'map') {
      // The schema makes a list of it: what it finds there, it finds at the first entry.
      return one === undefined ? this.#map(node.entries, shape, path) : this.#map(node.entries, one, [...path, 0])
    }
    if (node.kind === 'list') {
      if (shape.kind !== 'list') return node.items.map(() => null)
      return node.items.map((item, index) => this.take(item, shape.item, [...path, index]) ?? null)
    }
    return this.#scalar(node, one ?? shape, path)
  }

  /** Values from the environment are secrets there: keys of other services are among them. */
  #structure(node: Node, path: Path): unknown {
    this.positions.set(renderPath(path), node.at)
    if (node.kind === 'map')
      return this.#named(node.entries, path, ({ key, value }) => this.#structure(value, [...path, key]))
    if (node.kind === 'list') return node.items.map((item, index) => this.#structure(item, [...path, index]))
    const text = typeof node.value === 'string'
    const leaf = this.#scalar(node, { kind: 'value', form: text ? { text } : {} }, path) ?? null
    return this.foreign.has(renderPath(path)) ? new Secret(String(leaf)) : leaf
  }

  #map(entries: Entry[], shape: ConfigShape, path: Path): Record<string, unknown> {
    if (shape.kind === 'group') return this.#group(entries, shape.settings, path)
    if (shape.kind === 'choice') {
      const by = entries.find(({ key }) => key === shape.by)?.value
      if (by?.kind !== 'scalar') return {}
      const at = [...path, shape.by]
      const choice = this.#scalar(by, { kind: 'value', form: {} }, at)
      const group = shape.groups.get(choice)
      if (group !== undefined) return this.#map(entries, shapeOf(group), path)
      // Which settings it may have is open until its kind is known: only the kind is checked.
      this.positions.set(renderPath(at), by.at)
      return { [shape.by]: choice }
    }
    if (shape.kind !== 'table') return {}
    return this.#named(entries, path, ({ key, value }) => this.take(value, shape.value, [...path, key]) ?? null)
  }

  #group(entries: Entry[], settings: Readonly<Record<string, z.core.$ZodType>>, path: Path): Record<string, unknown> {
    const data = this.#named(entries, path, (entry) => {
      const schema = Object.hasOwn(settings, entry.key) ? settings[entry.key] : undefined
      if (schema !== undefined) return this.take(entry.value, schema, [...path, entry.key])
      if (secretOfTwin(entry.key, settings) === undefined) this.#unknown(entry, settings, path)
      return undefined
    })
    for (const entry of entries) {
      const name = Object.hasOwn(settings, entry.key) ? undefined : secretOfTwin(entry.key, settings)
      if (name !== undefined) this.#twin(entry, name, { settings, path, data })
    }
    return data
  }

  /** An object of what `take` makes of each entry; entries without a value are as good as left out. */
  #named(entries: Entry[], path: Path, take: (entry: Entry) => unknown): Record<string, unknown> {
    const pairs: [string, unknown][] = []
    for (const entry of entries) {
      if (entry.key === '__proto__') {
        this.#report([...path, entry.key], entry.keyAt, 'unknown')
        continue
      }
      const value = take(entry)
      if (value !== undefined) pairs.push([entry.key, value])
    }
    return Object.fromEntries(pairs)
  }

  #unknown({ key, keyAt }: Entry, settings: Readonly<Record<string, z.core.$ZodType>>, path: Path): void {
    const said = unknownName(key, namesIn(settings))
    const homes = said.includes('did you mean') || path.length > 1 ? [] : this.#homesOf(key)
    const message = homes.length === 0 ? said : `unknown here; did you mean ${homes.join(' or ')}?`
    this.#report([...path, key], keyAt, message)
  }

  /** Groups of the file that do have a setting of this name: with wrong indentation one of them was meant. */
  #homesOf(name: string): string[] {
    const root = shapeOf(this.#root)
    if (root.kind !== 'group') return []
    if (Object.hasOwn(root.settings, name)) return [`${name} at the top level`]
    return Object.entries(root.settings).flatMap(([group, schema]) => {
      const shape = shapeOf(schema)
      return shape.kind === 'group' && namesIn(shape.settings).includes(name) ? [`${group}.${name}`] : []
    })
  }

  #scalar(node: Node & { kind: 'scalar' }, shape: ConfigShape, path: Path): unknown {
    const wantsText = shape.kind === 'value' && shape.form.text === true
    if (node.value === null) return undefined
    if (typeof node.value !== 'string') return wantsText ? node.source : node.value
    const { text, used, whole, complaints } = interpolate(node.value, this.#world.env)
    for (const complaint of complaints) this.#report(path, node.at, complaint)
    if (used) this.foreign.add(renderPath(path))
    return whole && used && !wantsText ? asYamlScalar(text) : text
  }

  /** Reads the secret `name` from the file that its twin names, into `data`. */
  #twin({ key, keyAt, value: node }: Entry, name: string, { settings, path, data }: Group): void {
    const at = [...path, key]
    this.positions.set(renderPath(at), node.at)
    if (node.kind === 'scalar' && node.value === null) return
    const schema = settings[name]
    const secretAt = renderPath([...path, name])
    if (data[name] !== undefined) {
      this.#report(at, keyAt, `is set beside ${name}: keep one of the two`)
      return
    }
    this.twins.set(secretAt, renderPath(at))
    this.foreign.add(secretAt)
    const many = schema !== undefined && shapeOf(schema).kind === 'list'
    // A stand-in, so that the secret is not reported as missing as well: what is wrong is its file.
    data[name] = many ? [''] : ''
    const file = node.kind === 'scalar' ? this.#scalar(node, { kind: 'value', form: { text: true } }, at) : undefined
    if (typeof file !== 'string' || file === '') {
      this.#report(at, node.at, 'must be the path of a file')
      return
    }
    if (this.problems.some((problem) => problem.path === renderPath(at))) return
    const content = this.#readSecret(file, { name, schema, path: at, at: node.at })
    if (content === undefined) return
    data[name] = many
      ? content
          .split(/\r?\n/)
          .map((line) => line.trim())
          .filter((line) => line !== '')
      : content
  }

  #readSecret(named: string, { name, schema, path, at }: Twin): string | undefined {
    const file = resolve(this.#world.folder, named)
    // A path from a variable may be the secret itself, by mistake.
    const foreign = this.foreign.has(renderPath(path))
    const which = foreign ? '' : `: ${file}`
    const wayOut =
      secretForm(schema)?.make?.(foreign ? 'FILE' : file) ?? `write the secret into it, or give ${name} here`
    let content: string
    try {
      content = this.#world.readFile(file)
    } catch (error) {
      this.#report(path, at, `${whyUnreadable(error)}${which}; ${wayOut}`)
      return undefined
    }
    const secret = content.replace(/^\uFEFF/, '').replace(/(\r?\n)+$/, '')
    if (secret.trim() !== '') return secret
    this.#report(path, at, `the file is empty${which}; ${wayOut}`)
    return undefined
  }

  #report(path: Path, at: Position, message: string): void {
    this.problems.push({ path: renderPath(path), ...at, message })
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'this user may not read the file',
  EPERM: 'this user may not read the file',
  EISDIR: 'is a directory, not a file',
}

export function whyUnreadable(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  const reason = typeof code === 'string' ? REASONS[code] : undefined
  return reason ?? `the file can't be read${typeof code === 'string' ? ` (${code})` : ''}`
}
