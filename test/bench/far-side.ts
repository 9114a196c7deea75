import { readFileSync } from 'node:fs'
import type { Server } from 'node:net'
import { createInterface } from 'node:readline'
import type { Served } from './until-done.ts'

/** With `--tls`: where key and certificate are. Clients trust it by NODE_EXTRA_CA_CERTS, as they would in earnest. */
const { BENCH_TLS_KEY: key, BENCH_TLS_CERT: cert } = process.env

export const tlsOfFarSides =
  key === undefined || cert === undefined ? undefined : { key: readFileSync(key), cert: readFileSync(cert) }

export function urlOf(server: Server): string {
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  return `${tlsOfFarSides === undefined ? 'http' : 'https'}://127.0.0.1:${address.port}`
}

/** What came so far, for each line that comes in: who asks spends nothing of those who are measured. */
export function tellCount(served: () => Served): void {
  createInterface({ input: process.stdin }).on('line', () => console.log(JSON.stringify(served())))
}
