import { join } from 'node:path'
import { run } from './command.ts'
import { ROOT } from './documents.ts'

export interface Package {
  file: string
  /** What is in it. */
  paths: string[]
}

/** False: a test that installs the package is left out, and its name says so. */
export const hasRegistry = (await run('npm', ['ping'], ROOT)).code === 0

/** The package as it is built: other tests run from there, so nothing is built anew. */
export async function packInto(folder: string): Promise<Package> {
  const packing = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], ROOT)
  const [packed] = JSON.parse(packing.out) as { filename: string; files: { path: string }[] }[]
  if (packed === undefined) throw new Error(packing.err)
  return { file: join(folder, packed.filename), paths: packed.files.map(({ path }) => path) }
}
