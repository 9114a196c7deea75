/**
 * `npm run build`: `tsc` makes `dist/`, and the files that code reads while it runs are copied there. Types are not checked here but
 * by `npm run types`: that takes ten times as long, and `npm start` waits for the build.
 *
 * Plain JavaScript, because it is part of the set-up; skipped if no source has changed. `--clean` removes files of older sources first.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const DIST = join(ROOT, 'dist')
/** A hash of names, sizes and times of the sources. */
const STAMP = join(DIST, '.stamp')
const COMPILED = /^(src|jobs|config\/schema)\/.*\.ts$/
/** Lua steps, scripts and styles of pages, the demo's config. An operator's config is not among them. */
const COPIED = /^src\/.*\.(lua|css|js|svg)$|^config\/demo\.yaml$/
const SETTINGS = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--clean')) rmSync(DIST, { recursive: true, force: true })
  if (!isBuilt()) await build()
}

/** True if `dist/` was made of the present sources. */
export function isBuilt() {
  return existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stampOf(sourceFiles())
}

async function build() {
  const files = sourceFiles()
  // Taken before the compiler reads them: what changes meanwhile is built again next time.
  const stamp = stampOf(files)
  const tsc = [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '--project', 'tsconfig.build.json']
  const { status } = spawnSync(process.execPath, tsc, { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) process.exit(1)
  for (const path of files.filter((file) => COPIED.test(file))) {
    mkdirSync(dirname(join(DIST, path)), { recursive: true })
    cpSync(join(ROOT, path), join(DIST, path))
  }
  await describeCommands()
  writeFileSync(STAMP, stamp)
}

/** The command line reads this in place of the operations, which are most of the program. */
async function describeCommands() {
  const of = (path) => import(pathToFileURL(join(DIST, 'src', path)).href)
  const { describeCommands } = await of('operations/describe-commands.js')
  const { OPERATIONS } = await of('operations/all-operations.js')
  writeFileSync(join(DIST, 'src', 'cli', 'remote-commands.json'), JSON.stringify(describeCommands(OPERATIONS)))
}

function sourceFiles() {
  return ['src', 'jobs', 'config']
    .flatMap((folder) => filesBelow(join(ROOT, folder)))
    .map((file) => relative(ROOT, file).replaceAll('\\', '/'))
    .filter((path) => COMPILED.test(path) || COPIED.test(path))
}

/** Without those of a daemon's data folder, which lies beside its config: not every user may read them. */
function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.name.startsWith('.') || entry.name === 'node_modules') return []
    return entry.isDirectory() ? filesBelow(path) : [path]
  })
}

function stampOf(files) {
  const hash = createHash('sha256')
  for (const path of [...files, ...SETTINGS].sort()) {
    const { mtimeMs, size } = statSync(join(ROOT, path))
    hash.update(`${path} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex')
}
