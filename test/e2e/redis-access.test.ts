import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { connectRedis } from '../../src/redis/connect.ts'
import { type Authority, openAuthority } from '../delivery/authority.ts'
import { plimsollHere } from '../support/command.ts'
import { writeDaemonConfig } from '../support/daemon.ts'
import { eventually, freePort } from '../support/fleet.ts'
import { type RedisProcess, startRedisProcess } from '../support/redis-server.ts'

const trustedBefore = getCACertificates('default')
let folder: string
let authority: Authority
let unknown: Authority
let server: RedisProcess
let sentinel: RedisProcess
const PASSWORDS = { server: 'a-password-of-servers', sentinel: 'a-password-of-sentinels' }
const ended: (() => Promise<void>)[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-access-'))
  authority = openAuthority('one that this machine trusts')
  unknown = openAuthority('one that nobody knows')
  setDefaultCACertificates([...trustedBefore, authority.cert])
  server = await start(['--dir', folder, '--appendonly', 'yes', '--save', ''])
  await lock(server, 'ops', PASSWORDS.server)
  sentinel = await startSentinel()
})
afterAll(async () => {
  for (const end of ended) await end()
  setDefaultCACertificates(trustedBefore)
  authority.close()
  unknown.close()
  rmSync(folder, { recursive: true, force: true })
})

async function start(args: string[]): Promise<RedisProcess> {
  const process = await startRedisProcess(await freePort(), args)
  ended.push(() => process.end('SIGKILL'))
  return process
}

async function startSentinel(): Promise<RedisProcess> {
  const file = join(folder, 'sentinel.conf')
  writeFileSync(
    file,
    `sentinel monitor the-master 127.0.0.1 ${server.port} 1
sentinel auth-user the-master ops
sentinel auth-pass the-master ${PASSWORDS.server}
`,
  )
  const process = await start([file, '--sentinel'])
  await lock(process, 'watcher', PASSWORDS.sentinel)
  return process
}

/** From then on it takes this user alone. */
async function lock({ port }: RedisProcess, user: string, password: string): Promise<void> {
  const admin = new Redis(port, '127.0.0.1', { replyMapping: 'legacy' })
  await admin.call('ACL', 'SETUSER', user, 'on', `>${password}`, '~*', '&*', '+@all')
  await admin.call('ACL', 'SETUSER', 'default', 'off')
  admin.disconnect()
}

/** A cluster of one node behind TLS, by the name localhost; its certificate is for that name alone. */
async function startCluster(of: Authority): Promise<number> {
  const own = mkdtempSync(join(folder, 'node-'))
  const { cert, key } = of.certify('DNS:localhost')
  for (const [name, text] of Object.entries({ 'ca.pem': of.cert, 'cert.pem': cert, 'key.pem': key })) {
    writeFileSync(join(own, name), text)
  }
  const [tlsPort, busPort] = [await freePort(), await freePort()]
  const { port } = await start([
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    String(busPort),
    '--tls-port',
    String(tlsPort),
    '--tls-cert-file',
    join(own, 'cert.pem'),
    '--tls-key-file',
    join(own, 'key.pem'),
    '--tls-ca-cert-file',
    join(own, 'ca.pem'),
    '--tls-auth-clients',
    'no',
    '--tls-cluster',
    'yes',
    '--cluster-announce-hostname',
    'localhost',
    '--cluster-preferred-endpoint-type',
    'hostname',
    '--dir',
    own,
    '--save',
    '',
    '--appendonly',
    'yes',
  ])
  const admin = new Redis(port, '127.0.0.1', { replyMapping: 'legacy' })
  await admin.cluster('ADDSLOTSRANGE', 0, 16_383)
  await eventually('a cluster that serves', async () =>
    String(await admin.cluster('INFO')).includes('cluster_state:ok'),
  )
  admin.disconnect()
  return tlsPort
}

async function doctor(redis: object) {
  const far = { sandboxUrl: 'http://127.0.0.1:9', smtpUrl: 'smtp://127.0.0.1:9', port: 9 }
  const config = writeDaemonConfig(mkdtempSync(join(folder, 'config-')), {
    ...far,
    settings: { redis, encryption: { keys: [{ id: 'k1', key: Buffer.alloc(32, 7).toString('base64') }] } },
  })
  const { out } = await plimsollHere(['doctor', '--json', '--timeout', '3s', '--config', config], folder)
  for (const password of Object.values(PASSWORDS)) expect(out).not.toContain(password)
  return (JSON.parse(out) as { name: string; level: string; detail: string }[]).filter(({ name }) =>
    /^redis/.test(name),
  )
}

const found = (name: string, level: string, detail: unknown) => expect.objectContaining({ name, level, detail })

test('sentinels and the servers that they watch have users and passwords of their own', async () => {
  const redis = {
    sentinels: [`127.0.0.1:${sentinel.port}`],
    name: 'the-master',
    username: 'ops',
    password: PASSWORDS.server,
    sentinelUsername: 'watcher',
    sentinelPassword: PASSWORDS.sentinel,
  }
  await eventually('a doctor who is content', async () =>
    (await doctor(redis)).some(({ name, level }) => name === 'redis.write' && level === 'ok'),
  )
  const wrong = (more: object) => doctor({ ...redis, ...more })
  const at = `127.0.0.1:${sentinel.port} can't be used: `
  expect(await wrong({ sentinelUsername: undefined, sentinelPassword: undefined })).toEqual([
    found('redis', 'fail', `${at}NOAUTH it asks for a password`),
  ])
  expect(await wrong({ sentinelPassword: 'another-password' })).toEqual([
    found('redis', 'fail', expect.stringMatching(`^${at}WRONGPASS `)),
  ])
  expect(await wrong({ name: 'another' })).toEqual([
    found('redis', 'fail', `${at}knows no master with the name another`),
  ])
  expect(await wrong({ password: 'another-password' })).toEqual([
    found('redis', 'fail', expect.stringMatching('^does not answer: WRONGPASS ')),
  ])
  const dead = `127.0.0.1:${await freePort()}`
  expect(await wrong({ sentinels: [dead, ...redis.sentinels] })).toContainEqual(
    found('redis.nodes', 'warn', `${dead} can't be used: connection refused`),
  )
})

test('a cluster with TLS is reached by the names of its nodes, which its certificates are for', async () => {
  const port = await startCluster(authority)
  const address = { kind: 'cluster' as const, nodes: [{ host: 'localhost', port }], tls: true }
  const redis = { cluster: [`localhost:${port}`], tls: true }
  const store = connectRedis(address, 'pages', () => {})
  onTestFinished(() => store.disconnect())
  await store.set('a', '1')
  expect(await store.get('a')).toBe('1')
  expect(await doctor(redis)).toContainEqual(found('redis.write', 'ok', 'accepts writes'))
  expect(await doctor({ ...redis, cluster: [`127.0.0.1:${port}`] })).toContainEqual(
    found('redis', 'fail', `127.0.0.1:${port} can't be used: certificate is for another host name`),
  )
})

test('a node whose certificate nobody vouches for is named with that', async () => {
  const port = await startCluster(unknown)
  expect(await doctor({ cluster: [`localhost:${port}`], tls: true })).toEqual([
    found(
      'redis',
      'fail',
      expect.stringMatching(`^localhost:${port} can't be used: certificate is (self-signed|from an unknown issuer)$`),
    ),
  ])
})
