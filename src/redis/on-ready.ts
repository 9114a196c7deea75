import { Cluster, type Redis } from 'ioredis'
import type { Store } from './connect.ts'

/**
 * Each time that a connection to where the data is has come about, the first one too: the server behind it may have taken over
 * from another one, or was started again, and may not have all that was written last.
 */
export function onReady(store: Store, does: () => void): void {
  const watch = (server: Redis) => {
    server.on('ready', does)
  }
  if (store instanceof Cluster) {
    store.nodes().forEach(watch)
    store.on('+node', watch)
    // A replica that was connected before takes over without a word; the master that it follows goes before.
    store.on('-node', does)
  } else watch(store)
}
