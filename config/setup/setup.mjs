/**
 * The first steps of `npm run demo` and `npm test`: packages, a Node new enough for them and, where the arguments begin with
 * `--with-redis`, `--with-chromium`, `--with-promtool`, `--with-systemd` or `--with-nginx`, a Redis server, a browser to look at
 * mails with, a checker for what Prometheus reads, one for units, a proxy; with `--with-build`, `dist/`. Each step is skipped when done.
 * Then the program named in the arguments runs on that Node.
 *
 * Plain JavaScript without packages, because it is what runs before there are any, on any Node from 18 on.
 */
import { spawn, spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const NODE_NEEDED = [22, 19]

/** Programs that a machine may lack: any of the commands will do, or the one that the variable names. */
const WITH = {
  '--with-redis': {
    what: 'redis-server',
    variable: 'REDIS_SERVER_BIN',
    commands: ['redis-server', 'valkey-server'],
    aptPackage: 'redis-server',
  },
  '--with-chromium': {
    what: 'Chromium',
    variable: 'CHROMIUM_BIN',
    commands: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    aptPackage: 'chromium',
  },
  '--with-promtool': {
    what: 'promtool',
    variable: 'PROMTOOL_BIN',
    commands: ['promtool'],
    aptPackage: 'prometheus',
    // Installing that package would start a server: only the one program is taken out of it.
    unpacks: 'usr/bin/promtool',
    make: findOrUnpack,
  },
  '--with-systemd': {
    what: 'systemd-analyze',
    commands: ['systemd-analyze'],
    aptPackage: 'systemd',
    // Many machines have no use for it, and can't have it: the tests of the unit are then left out, and say so.
    isOptional: true,
  },
  '--with-nginx': {
    what: 'nginx',
    variable: 'NGINX_BIN',
    commands: ['nginx'],
    aptPackage: 'nginx',
    // Installed, it would be a server on port 80.
    unpacks: 'usr/sbin/nginx',
    make: findOrUnpack,
    // Without one its tests are left out, and say so.
    isOptional: true,
  },
  '--with-build': { make: build },
}

/** Root's downloads go through a user who may not write here; apt warns each time. */
const AS_WE_ARE = ['-o', 'APT::Sandbox::User=root']

// Node's answer would be a debugger, here or in what runs in this very process.
process.on('SIGUSR1', () => {})

const given = process.argv.slice(2)
const end = given.findIndex((argument) => WITH[argument] === undefined)
const needed = end === -1 ? given : given.slice(0, end)
const [program, ...args] = given.slice(needed.length)
if (program === undefined) stop('nothing to run', 'npm run demo, or npm test')
installPackages()
const node = findNode()
for (const option of needed) {
  const { make = findOrInstall } = WITH[option]
  await make(WITH[option])
}
await run(node, join(ROOT, program), args)

function installPackages() {
  if (packagesAreInstalled()) return
  say('installing packages (npm ci)')
  const result = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: ROOT,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, NODE_ENV: 'development' },
  })
  if (result.status !== 0) stop('the packages could not be installed (is the npm registry reachable?)', 'npm ci')
}

/** npm keeps a copy of the lock file of what it really installed; what it left out must be optional for this machine. */
function packagesAreInstalled() {
  const wanted = lockedPackages(join(ROOT, 'package-lock.json'))
  const installed = lockedPackages(join(ROOT, 'node_modules', '.package-lock.json'))
  if (wanted === undefined || installed === undefined) return false
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/')) return true
    const found = installed[path]
    return found === undefined ? entry.optional === true : found.version === entry.version
  })
}

function lockedPackages(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : undefined
}

function findNode() {
  if (isNewEnough(process.versions.node)) return process.execPath
  const own = join(ROOT, 'node_modules', '.bin', 'node')
  if (existsSync(own)) return own
  stop(
    `Node ${process.versions.node} is too old and the packages bring none for ${process.platform}-${process.arch}`,
    `install Node ${NODE_NEEDED.join('.')} or newer from https://nodejs.org`,
  )
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > NODE_NEEDED[0] || (major === NODE_NEEDED[0] && minor >= NODE_NEEDED[1])
}

function findOrInstall({ what, variable, commands, aptPackage, isOptional = false }) {
  if (process.env[variable] || commands.some(isOnPath)) return
  const byHand = `apt-get install ${aptPackage} (as root)${variable ? `, or set ${variable} to a ${what}` : ''}`
  const miss = isOptional ? leaveOut : stop
  if (process.platform !== 'linux' || !isOnPath('apt-get')) return miss(`there is no ${what} on this machine`, byHand)
  if (process.getuid() !== 0) return miss(`there is no ${what}, and only root can install one`, `sudo ${byHand}`)
  say(`installing a ${what} (apt-get install ${aptPackage})`)
  apt(['update', '-qq'])
  apt(['install', '-y', '-qq', '--no-install-recommends', aptPackage])
  if (!commands.some(isOnPath)) miss(`a ${what} could not be installed`, byHand)
}

async function build() {
  const { isBuilt } = await import('./build.mjs')
  if (isBuilt()) return
  const { status } = spawnSync(node, [join(ROOT, 'config', 'setup', 'build.mjs')], { stdio: ['ignore', 2, 2] })
  if (status !== 0) stop('dist/ could not be made of the sources', 'npm run build')
}

/** Works without root: nothing is installed. Tests find programs that were unpacked before in this folder. */
function findOrUnpack({ what, variable, commands, aptPackage, unpacks, isOptional = false }) {
  const folder = join(ROOT, 'node_modules', '.cache', 'plimsoll')
  const program = join(folder, basename(unpacks))
  if (process.env[variable] || commands.some(isOnPath) || existsSync(program)) return
  const byHand = `apt-get install ${aptPackage} (as root), or set ${variable} to a ${what}`
  const miss = isOptional ? leaveOut : stop
  if (process.platform !== 'linux' || !['apt-get', 'dpkg-deb'].every(isOnPath)) {
    return miss(`there is no ${what} on this machine`, byHand)
  }
  say(`fetching ${what} (apt-get download ${aptPackage})`)
  const unpacked = join(folder, 'unpacked')
  rmSync(unpacked, { recursive: true, force: true })
  mkdirSync(unpacked, { recursive: true })
  apt(['download', '-qq', ...AS_WE_ARE, aptPackage], unpacked)
  if (packageIn(unpacked) === undefined && process.getuid() === 0) {
    apt(['update', '-qq'])
    apt(['download', '-qq', ...AS_WE_ARE, aptPackage], unpacked)
  }
  const found = packageIn(unpacked)
  if (found !== undefined) spawnSync('dpkg-deb', ['-x', found, '.'], { cwd: unpacked, stdio: ['ignore', 'ignore', 2] })
  const isThere = existsSync(join(unpacked, unpacks))
  if (isThere) renameSync(join(unpacked, unpacks), program)
  rmSync(unpacked, { recursive: true, force: true })
  if (!isThere) miss(`a ${what} could not be fetched`, byHand)
}

function packageIn(folder) {
  return readdirSync(folder).find((name) => name.endsWith('.deb'))
}

function apt(args, cwd = ROOT) {
  spawnSync('apt-get', args, {
    cwd,
    stdio: ['ignore', 'ignore', 2],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}

function isOnPath(command) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** In this very process where its Node will do: one process less between a signal and whom it is for. */
async function run(node, program, args) {
  if (node === process.execPath) {
    process.argv = [node, program, ...args]
    await import(pathToFileURL(program).href)
    return
  }
  const path = `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`
  const child = spawn(node, ['--disable-sigusr1', program, ...args], {
    stdio: 'inherit',
    env: { ...process.env, PATH: path },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
}

function leaveOut(missing, byHand) {
  say(`${missing}: what needs it is left out; to get it: ${byHand}`)
}

function say(text) {
  process.stderr.write(`set-up: ${text}\n`)
}

function stop(missing, hint) {
  process.stderr.write(`set-up: ${missing}.\n        To get it: ${hint}\n`)
  process.exit(1)
}
