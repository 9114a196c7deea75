import * as z from 'zod'
import { bytesInBase64, hostPort, secret, secretAddress } from './secrets.ts'
import { distinct, plainText, type ReportProblem, related, toggle, type Unchecked } from './values.ts'

const redisHosts = () => z.array(hostPort()).min(1, 'must have at least one host:port')

export const redis = related(
  z.strictObject({
    url: secretAddress(['redis', 'rediss']).exactOptional().describe('One server: redis://user:password@host:6379/0.'),
    sentinels: redisHosts().exactOptional().describe('host:port of the sentinels that know the master `name`.'),
    name: plainText().exactOptional().describe('Name of the master at the sentinels.'),
    cluster: redisHosts().exactOptional().describe('host:port of some nodes of a Redis cluster.'),
    username: plainText().exactOptional().describe('For sentinels and cluster; with `url` it is part of the address.'),
    password: secret().exactOptional().describe('For sentinels and cluster; with `url` it is part of the address.'),
    sentinelUsername: plainText().exactOptional().describe('User at the sentinels.'),
    sentinelPassword: secret().exactOptional().describe('Password at the sentinels.'),
    tls: toggle().prefault(false).describe('Connect with TLS. Certificates must be for the names of the nodes.'),
    prefix: plainText(/^[A-Za-z0-9_.-]{1,40}$/, 'must be 1 to 40 letters, digits, _ . or -')
      .prefault('plimsoll')
      .describe('Prefix of every key.'),
  }),
  checkRedis,
).describe('The Redis server. Without url, sentinels or cluster a private one is run inside `dataDir`.')

function checkRedis(given: Unchecked, report: ReportProblem): void {
  const ways = ['url', 'sentinels', 'cluster'].filter((way) => given[way] !== undefined)
  if (ways.length > 1) report([], `has ${ways.join(' and ')}: keep one of them`)
  if (given.sentinels !== undefined && given.name === undefined) report(['name'], 'required with sentinels')
  if (given.sentinels === undefined && given.name !== undefined) report(['name'], 'has a meaning only with sentinels')
  const needless = 'has a meaning only with a server of your own: give url, sentinels or cluster'
  for (const name of ['username', 'password']) {
    if (given[name] === undefined) continue
    if (ways.length === 0) report([name], needless)
    if (given.url !== undefined) report([name], 'is part of the address of url: keep one of them')
  }
  for (const name of ['sentinelUsername', 'sentinelPassword']) {
    if (given[name] !== undefined && given.sentinels === undefined) report([name], 'has a meaning only with sentinels')
  }
  for (const [user, password] of [
    ['username', 'password'],
    ['sentinelUsername', 'sentinelPassword'],
  ] as const) {
    if (given[user] !== undefined && given[password] === undefined)
      report([user], `does nothing without ${password}: set both`)
  }
  if (given.tls === true && ways.length === 0) report(['tls'], needless)
}

const faultOfKey = (key: string) =>
  bytesInBase64(key.trim()) === 32 ? undefined : 'must be 32 bytes in base64; to make one: openssl rand -base64 32'

export const encryption = z
  .strictObject({
    keys: distinct(
      z
        .array(
          z.strictObject({
            id: plainText(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 letters, digits, _ or -').describe(
              'Names the key beside everything it encrypted. Never give an id to another key.',
            ),
            key: secret({ fault: faultOfKey }).describe('32 bytes in base64.'),
          }),
        )
        .min(1, 'must have at least one key'),
      ({ id }) => id,
      'an earlier key has this id',
      'id',
    ).describe('The first one encrypts, all decrypt. Taken over on SIGHUP.'),
  })
  .describe('Keys that encrypt stored tokens. Without it a key is made at the first start, in `dataDir`/keys.')
