// Preloaded into a daemon (`--import file:///.../preload.mjs?FILE`): does to this process what FILE says, as JSON. `aheadMs`: its clock shows so much more than it is. `blockedUntil`: it does nothing else until then.
import { readFileSync, watchFile } from 'node:fs'

const file = decodeURIComponent(new URL(import.meta.url).search.slice(1))
const Right = Date
const rightNow = Right.now.bind(Right)
let aheadMs = 0

globalThis.Date = class extends Right {
  constructor(...given) {
    super(...(given.length === 0 ? [rightNow() + aheadMs] : given))
  }
  static now() {
    return rightNow() + aheadMs
  }
}

function obey() {
  let orders
  try {
    orders = JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return // Not there, or not whole yet: the next look finds it.
  }
  aheadMs = orders.aheadMs ?? 0
  while (rightNow() < (orders.blockedUntil ?? 0));
}

obey()
watchFile(file, { interval: 20, persistent: false }, obey)
