/**
 * `npm run build`: makes `dist/` of the sources, which is what `npm start`, `plimsoll` and the daemons of the tests run. Their code
 * and that of the packages becomes a few files, since loading hundreds of small ones is most of what a short command takes.
 *
 * Plain JavaScript, because it is part of the set-up; skipped where nothing has changed since the last build. Files of older
 * builds stay, for what still runs from them; `--anew` removes them first.
 */
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const DIST = join(ROOT, 'dist')
const ENTRY = join('src', 'main.js')
const ROOMS = ['src', 'jobs', 'config']
/** The stamp changes with any file that comes, goes or is written. */
const STAMP = join(DIST, '.stamp')
const CODE = /\.(ts|mjs)$/
/**
 * Files that are read while running: Lua steps, scripts and styles of pages, the demo's config, the guide. An
 * operator's config is not among them.
 */
const ASSETS =
  /^src\/.*\.(lua|css|js|svg)$|^config\/(demo\.yaml|(guide\/.*|reference|deploy\/(README|monitoring))\.md)$/
/** These bring files of their own that they look for beside their code. */
const AS_PACKAGES = ['liquidjs', 'pino-pretty']

/**
 * Each with all that it imports, in one file: to find and link a file takes a short command a millisecond. What comes first
 * has what several import. Help and completion need what operations are, and nothing that connects.
 */
const LOADED_TOGETHER = [
  { name: 'begin', test: /src\/(cli\/output|runtime\/clock)\.ts$|package\.json$/, priority: 3 },
  { name: 'program', test: /src\/cli\/program\.ts$/, priority: 2 },
  { name: 'operations', test: /src\/operations\//, priority: 1.5 },
  {
    name: 'store',
    test: /src\/(cli\/(with-parts|say|table)|checks\/fleet-status|views\/(check-fleet|account-view))\.ts$/,
    priority: 1,
  },
]

/** A module finds its files by its own place, which in `dist/` is that of a chunk: one folder below `dist/`, as the entry is. */
const placesOfModules = {
  name: 'places-of-modules',
  transform(code, id) {
    if (!code.includes('import.meta.url') || id.includes('node_modules')) return null
    const place = relative(ROOT, id).replaceAll('\\', '/')
    return code.replaceAll('import.meta.url', `new URL('../${place}', import.meta.url).href`)
  },
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--anew')) rmSync(DIST, { recursive: true, force: true })
  if (!isBuilt()) await build()
}

/** True where `dist/` was made of the present sources. */
export function isBuilt() {
  return existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stampOf(sourceFiles())
}

async function build() {
  const files = sourceFiles()
  const stamp = stampOf(files)
  // Made beside what is there and moved over it: two builds must not meet, and what is read meanwhile is read whole.
  const made = join(DIST, `.made-${process.pid}`)
  try {
    copyAssets(files, made)
    const { build: bundle } = await import('rolldown')
    const { output } = await bundle({
      input: join(ROOT, 'src/main.ts'),
      platform: 'node',
      external: AS_PACKAGES,
      plugins: [placesOfModules],
      logLevel: 'warn',
      output: {
        dir: made,
        format: 'esm',
        // A file with one character beyond Latin-1 takes the engine two bytes for each: 6 MB of a daemon.
        charset: 'ascii',
        entryFileNames: ENTRY,
        // By their content: what runs from an older build finds its own.
        chunkFileNames: 'chunks/[name]-[hash].js',
        codeSplitting: { groups: LOADED_TOGETHER },
        minify: { compress: false, mangle: false, codegen: true },
      },
    })
    writeFileSync(join(made, 'licenses.txt'), licensesOf(output.flatMap(({ moduleIds = [] }) => moduleIds)))
    moveFiles(made)
    writeFileSync(STAMP, stamp)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

/** Code of a package may be passed on only with its license: those of all that is in the bundle. */
function licensesOf(modules) {
  const folders = modules.flatMap(
    (id) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+(?=\/)/.exec(id.replaceAll('\\', '/'))?.[0] ?? [],
  )
  return [...new Set(folders)]
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      const file = readdirSync(folder).find((file) => /^(licen[cs]e|copying)\b/i.test(file))
      const text =
        file === undefined ? 'The package has no file with its license.' : readFileSync(join(folder, file), 'utf8')
      return `${name} ${version}, ${license}\n\n${text.trim()}\n`
    })
    .sort()
    .join(`\n${'-'.repeat(80)}\n\n`)
}

/** The entry last: what it loads is there by then. */
function moveFiles(made) {
  const paths = filesBelow(made).map((file) => relative(made, file))
  for (const path of [...paths.filter((path) => path !== ENTRY), ENTRY]) {
    mkdirSync(dirname(join(DIST, path)), { recursive: true })
    renameSync(join(made, path), join(DIST, path))
  }
}

function sourceFiles() {
  return ROOMS.flatMap((room) => filesBelow(join(ROOT, room)))
    .map((file) => relative(ROOT, file).replaceAll('\\', '/'))
    .filter((path) => CODE.test(path) || ASSETS.test(path))
}

/** Not those of a daemon's data folder, which lies beside its config: they change all the time, and not all may read them. */
function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.name.startsWith('.') || entry.name === 'node_modules') return []
    return entry.isDirectory() ? filesBelow(path) : [path]
  })
}

function copyAssets(files, folder) {
  for (const path of [...files.filter((path) => ASSETS.test(path)), 'package.json']) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(ROOT, path), join(folder, path))
  }
}

function stampOf(files) {
  const hash = createHash('sha256')
  for (const path of [...files, 'package.json', 'package-lock.json'].sort()) {
    const { mtimeMs, size } = statSync(join(ROOT, path))
    hash.update(`${path} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex')
}
