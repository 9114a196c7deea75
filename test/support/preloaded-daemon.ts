import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Daemon, startDaemon } from './daemon.ts'
import type { Scene } from './scene.ts'

export interface Orders {
  aheadMs?: number
  blockedUntil?: number
}

/** A daemon that does what it is ordered. The caller stops it. */
export async function startPreloaded(
  scene: Scene,
  name: string,
  settings: Record<string, object>,
  orders: Orders = {},
): Promise<{ daemon: Daemon; order(orders: Orders): void }> {
  const file = join(scene.folder, `orders-${name}.json`)
  const order = (orders: Orders) => {
    // In one step, or half of it would be read.
    writeFileSync(`${file}.new`, JSON.stringify(orders))
    renameSync(`${file}.new`, file)
  }
  order(orders)
  const url = new URL(`preload.mjs?${encodeURIComponent(file)}`, import.meta.url)
  const daemon = await startDaemon(await scene.configFile(settings), { NODE_OPTIONS: `--import=${url.href}` })
  return { daemon, order }
}
