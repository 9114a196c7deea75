/** The last step of `npm run build`: what the compiler doesn't carry into dist/ - Lua steps, YAML files, what pages load, the guide, package.json. */
import { cpSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const ASSETS = /\.(lua|yaml|css|js|svg)$|^(guide\/.*|reference|runbook)\.md$/

for (const room of ['src', 'config', 'jobs']) {
  for (const file of readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })) {
    if (ASSETS.test(file) && !file.includes('node_modules'))
      cpSync(join(ROOT, room, file), join(ROOT, 'dist', room, file))
  }
}
cpSync(join(ROOT, 'package.json'), join(ROOT, 'dist', 'package.json'))
