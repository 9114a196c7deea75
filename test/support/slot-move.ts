import type { ClusterNode, TestCluster } from './redis-cluster.ts'

/** A slot on its way from one node to another, key by key, as `redis-cli --cluster reshard` does it. */
interface SlotMove {
  readonly from: ClusterNode
  readonly to: ClusterNode
  moveKey(key: string): Promise<void>
  /** All keys that are on the old node still; then the new one has the slot. */
  finish(): Promise<void>
}

export async function beginSlotMove({ masters }: TestCluster, slot: number, to: ClusterNode): Promise<SlotMove> {
  const ids = await Promise.all(masters.map(({ admin }) => admin.cluster('MYID').then(String)))
  const idOf = (node: ClusterNode) => ids[masters.indexOf(node)] ?? ''
  const from = await ownerOf(masters, slot)
  await to.admin.cluster('SETSLOT', slot, 'IMPORTING', idOf(from))
  await from.admin.cluster('SETSLOT', slot, 'MIGRATING', idOf(to))
  const moveKey = async (key: string) => {
    await from.admin.call('MIGRATE', '127.0.0.1', to.port, key, 0, 5_000, 'REPLACE')
  }
  return {
    from,
    to,
    moveKey,
    finish: async () => {
      for (;;) {
        const keys = await from.admin.cluster('GETKEYSINSLOT', slot, 100)
        if (keys.length === 0) break
        for (const key of keys) await moveKey(String(key))
      }
      // Else what the old owner sent to the others just before may undo it.
      await to.admin.cluster('BUMPEPOCH')
      // The new owner first: until it knows, the old one sends everybody there.
      for (const { admin } of [to, from, ...masters.filter((node) => node !== to && node !== from)]) {
        await admin.cluster('SETSLOT', slot, 'NODE', idOf(to))
      }
    },
  }
}

export async function ownerOf(masters: readonly ClusterNode[], slot: number): Promise<ClusterNode> {
  for (const node of masters) {
    const ranges = (await node.admin.cluster('SLOTS')) as unknown as [first: number, last: number, [string, number]][]
    const own = ranges.find(([first, last]) => first <= slot && slot <= last)
    const owner = masters.find(({ port }) => port === own?.[2][1])
    if (owner !== undefined) return owner
  }
  throw new Error(`no master has slot ${slot}`)
}
