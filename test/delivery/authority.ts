import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificate {
  key: Buffer
  cert: Buffer
}

export interface Authority {
  /** What a machine has to trust in order to trust what this authority vouches for. */
  cert: string
  certify: (names: string, validDays?: number) => Certificate
  close: () => void
}

const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** Somebody who vouches for servers. */
export function openAuthority(name: string): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'authority-'))
  const file = (one: string) => join(folder, one)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  openssl(
    'req',
    '-x509',
    ...CURVE,
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
    '-keyout',
    file('ca.key'),
    '-out',
    file('ca.pem'),
  )

  return {
    cert: readFileSync(file('ca.pem'), 'utf8'),
    certify: (names, validDays = 2) => {
      openssl('req', ...CURVE, '-subj', '/CN=a server', '-keyout', file('key.pem'), '-out', file('request.pem'))
      writeFileSync(file('names.txt'), `subjectAltName=${names}\n`)
      openssl(
        'x509',
        '-req',
        '-in',
        file('request.pem'),
        '-CA',
        file('ca.pem'),
        '-CAkey',
        file('ca.key'),
        '-CAcreateserial',
        '-days',
        String(validDays),
        '-extfile',
        file('names.txt'),
        '-out',
        file('cert.pem'),
      )
      return { key: readFileSync(file('key.pem')), cert: readFileSync(file('cert.pem')) }
    },
    close: () => rmSync(folder, { recursive: true }),
  }
}

/** A certificate for localhost that nobody vouches for. */
export function selfSignedCertificate(): { key: Buffer; cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  try {
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
        .concat(['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'])
        .concat(['-keyout', key, '-out', cert]),
      { stdio: 'pipe' },
    )
    return { key: readFileSync(key), cert: readFileSync(cert) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
