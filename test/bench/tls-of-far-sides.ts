import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { selfSignedCertificate } from '../delivery/authority.ts'

/** Figures whose far sides speak TLS with `--tls`, and whose clients, ours and the references, do so too. */
export const WITH_TLS: readonly string[] = ['P1', 'P2', 'P3', 'P4', 'P5', 'P6']

/** The environment in which a far side serves with a certificate made for this run, and its clients trust it. */
export function tlsEnvironment(): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-bench-tls-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const certificate = selfSignedCertificate()
  writeFileSync(key, certificate.key)
  writeFileSync(cert, certificate.cert)
  return { BENCH_TLS_KEY: key, BENCH_TLS_CERT: cert, NODE_EXTRA_CA_CERTS: cert }
}
