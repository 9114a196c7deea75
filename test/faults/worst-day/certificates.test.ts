import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { createServer, type TLSSocket } from 'node:tls'
import { expect, type TestContext, test } from 'vitest'
import { plimsollHere } from '../../support/command.ts'
import { startDaemon } from '../../support/daemon.ts'
import { connectAll, eventually, hubIdsOf } from '../../support/fleet.ts'
import { lookInto } from '../../support/look-into.ts'
import { isOnPath } from '../../support/programs.ts'
import { sceneFor } from '../../support/scene.ts'

/** Certificates for 127.0.0.1: a good one of an authority of our own, an expired one of the same, one that vouches for itself. */
function makeCertificates(folder: string) {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  writeFileSync(join(folder, 'ext'), 'subjectAltName=IP:127.0.0.1')
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=test-ca', '-days', '2')
  openssl('req', ...key, '-keyout', 'key.pem', '-out', 'csr', '-subj', '/CN=127.0.0.1')
  const sign = (days: string, out: string, ...by: string[]) =>
    openssl('x509', '-req', '-in', 'csr', ...by, '-days', days, '-out', out, '-extfile', 'ext')
  const ours = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial']
  sign('2', 'good.pem', ...ours)
  sign('-1', 'expired.pem', ...ours)
  sign('2', 'self-signed.pem', '-key', 'key.pem')
  const read = (name: string) => ({
    key: readFileSync(join(folder, 'key.pem')),
    cert: readFileSync(join(folder, name)),
  })
  return { authority: join(folder, 'ca.pem'), read }
}

/** Speaks TLS before the provider. */
async function startTlsFront(context: TestContext, providerUrl: string, certificate: { key: Buffer; cert: Buffer }) {
  const open = new Set<TLSSocket>()
  let bytes = 0
  const server = createServer(certificate, (socket) => {
    open.add(socket)
    const onward = connect(Number(new URL(providerUrl).port), '127.0.0.1')
    for (const end of [socket, onward]) end.on('error', () => {})
    socket.on('data', (data) => {
      bytes += data.length
    })
    socket.on('close', () => onward.destroy())
    onward.on('close', () => socket.destroy())
    socket.pipe(onward).pipe(socket)
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const hangUp = () => {
    for (const socket of open) socket.destroy()
  }
  context.onTestFinished(() => {
    hangUp()
    server.close()
  })
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What came over TLS, so far. */
    bytes: () => bytes,
    show: (other: { key: Buffer; cert: Buffer }) => {
      server.setSecureContext(other)
      hangUp()
    },
  }
}

test.skipIf(!isOnPath('openssl'))(
  'the provider shows a certificate that has expired, or one that vouches for itself: nothing is sent, log, alert and doctor say why, and all is well with a good one (needs openssl)',
  async (context) => {
    const scene = await sceneFor(context, { accounts: 6, tokenLifetimeMs: 24_000, rotateRefreshTokens: false })
    const { authority, read } = makeCertificates(scene.folder)
    const front = await startTlsFront(context, scene.sandbox.url, read('good.pem'))
    const config = await scene.configFile({
      provider: { baseUrl: front.url },
      tokens: { refreshFrom: '30%', refreshBy: '50%' },
      limits: { every: '2s' },
    })
    const daemon = await startDaemon(config, { NODE_EXTRA_CA_CERTS: authority })
    context.onTestFinished(async () => void (await daemon.stop()))
    const { refreshedSince, statesOf, told } = lookInto(() => scene)
    const hubIds = await hubIdsOf(scene.sandbox.url)
    await connectAll(daemon.url, hubIds)
    await refreshedSince(hubIds, 0)

    front.show(read('expired.pem'))
    const before = front.bytes()
    await daemon.line(/"endpoint\.open".*certificate has expired/, 0)
    const alert = await eventually('the alert', async () => (await told()).find(({ kind }) => kind === 'fleet'))
    expect(alert.message).toContain('Certificate has expired.')
    front.show(read('self-signed.pem'))
    await daemon.line(/"(?:token|poll)\.transient".*certificate is (?:self-signed|from an unknown issuer)/, 0)
    const { out } = await plimsollHere(['doctor', '--config', config], scene.folder)
    expect(out).toMatch(/fail +provider +.*certificate is/)
    expect(front.bytes()).toBe(before)
    expect(Object.keys(await statesOf(daemon)).filter((is) => !['active', 'failing'].includes(is))).toEqual([])

    front.show(read('good.pem'))
    await refreshedSince(hubIds, Date.now())
    await eventually('all well', async () => (await statesOf(daemon)).active === hubIds.length)
  },
)
