import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Which way nothing comes through any more. */
export type Silence = 'both ways' | 'to the server' | 'to the client'

/**
 * Stands between a client and a server, and can do to them what a firewall does that forgets a connection: nothing comes
 * through, and nobody is told that it ended.
 */
export interface HalfOpenProxy {
  readonly port: number
  /** Does it to every connection that is open now; those opened later work. Says how many there were. */
  forgetOpen(silence: Silence): number
  stop(): Promise<void>
}

interface Line {
  client: Socket
  server: Socket
  deaf: { toServer: boolean; toClient: boolean }
}

export async function startHalfOpenProxy(serverPort: number): Promise<HalfOpenProxy> {
  const lines = new Set<Line>()
  const proxy = createServer((client) => {
    const line = { client, server: connect(serverPort, '127.0.0.1'), deaf: { toServer: false, toClient: false } }
    lines.add(line)
    join(line, () => lines.delete(line))
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    port: (proxy.address() as AddressInfo).port,
    forgetOpen: (silence) => {
      for (const { deaf } of lines) {
        deaf.toServer ||= silence !== 'to the client'
        deaf.toClient ||= silence !== 'to the server'
      }
      return lines.size
    },
    stop: async () => {
      proxy.close()
      for (const { client, server } of lines) {
        client.destroy()
        server.destroy()
      }
    },
  }
}

function join({ client, server, deaf }: Line, ended: () => void): void {
  client.on('data', (data) => deaf.toServer || server.write(data))
  server.on('data', (data) => deaf.toClient || client.write(data))
  // Whoever hangs up on a forgotten connection is not heard either.
  client.on('close', () => {
    if (!deaf.toServer) server.destroy()
    ended()
  })
  server.on('close', () => deaf.toClient || client.destroy())
  for (const socket of [client, server]) socket.on('error', () => {})
}
