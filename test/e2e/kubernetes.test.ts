import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { ROOT } from '../support/documents.ts'

/** No cluster runs here: the manifest is checked by what it shares with compose and the image. */
const DOCKER = join(ROOT, 'config/deploy/docker')
const read = (name: string) => readFileSync(join(DOCKER, name), 'utf8')

interface Volume {
  name: string
  secret?: { secretName: string; items: { key: string; path: string }[] }
}

interface Container {
  name: string
  image: string
  command?: string[]
  args?: string[]
  ports: { name: string; containerPort: number }[]
  livenessProbe?: { httpGet: { path: string; port: string } }
  readinessProbe: { httpGet?: { path: string; port: string } }
  securityContext: object
  volumeMounts: { name: string; mountPath: string }[]
}

interface Resource {
  apiVersion: string
  kind: string
  metadata: { name: string }
  spec: {
    replicas?: number
    serviceName?: string
    selector: Record<string, string> | { matchLabels: Record<string, string> }
    ports?: { targetPort: string }[]
    template?: {
      metadata: { labels: Record<string, string> }
      spec: { automountServiceAccountToken: boolean; containers: Container[]; volumes: Volume[] }
    }
    volumeClaimTemplates?: { metadata: { name: string } }[]
  }
}

const resources = parseAllDocuments(read('kubernetes.yaml')).map((document) => document.toJS() as Resource)
const sets = resources.filter(({ kind }) => kind === 'StatefulSet')
const [plimsoll, redis] = ['plimsoll', 'redis'].map((app) => {
  const pod = sets.find(({ metadata }) => metadata.name === app)?.spec.template?.spec
  const container = pod?.containers[0]
  if (pod === undefined || container === undefined) throw new Error(`there is no ${app}`)
  return { pod, container }
}) as [{ pod: Pod; container: Container }, { pod: Pod; container: Container }]
type Pod = NonNullable<Resource['spec']['template']>['spec']

test('what refers to something by name refers to what is there', () => {
  for (const { kind, metadata, spec } of resources) {
    const { matchLabels = spec.selector } = spec.selector as { matchLabels?: Record<string, string> }
    const set = sets.find((one) => one.metadata.name === metadata.name)
    expect(set?.spec.template?.metadata.labels, kind).toEqual(matchLabels)
    const ports = set?.spec.template?.spec.containers.flatMap((one) => one.ports.map(({ name }) => name))
    for (const { targetPort } of spec.ports ?? []) expect(ports).toContain(targetPort)
    if (kind === 'StatefulSet') expect(spec.serviceName).toBe(metadata.name)
  }
  for (const { spec } of sets) {
    const names = [
      ...(spec.template?.spec.volumes ?? []),
      ...(spec.volumeClaimTemplates?.map((one) => one.metadata) ?? []),
    ]
    const mounted = spec.template?.spec.containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name))
    expect(mounted?.sort()).toEqual(names.map(({ name }) => name).sort())
  }
})

test('the daemon has the config, the secrets, the port and the version of the image; its data folder is its own', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  const { container, pod } = plimsoll
  expect(container.image).toBe(`registry.example.com/plimsoll:${version}`)
  expect([container.command, container.args]).toEqual([undefined, undefined])
  const guide = readFileSync(join(ROOT, 'config/deploy/README.md'), 'utf8')
  expect([...guide.matchAll(/registry\.example\.com\/plimsoll:(\S+)/g)].map(([, tag]) => tag)).toEqual([
    version,
    version,
  ])

  const config = read('etc/plimsoll.yaml')
  const wanted = [...config.matchAll(/\/run\/secrets\/([\w-]+)/g)].map(([, name]) => name)
  const given = pod.volumes.flatMap(({ secret }) => secret?.items ?? [])
  expect(given.map(({ path }) => path).sort()).toEqual(wanted.sort())
  expect(given.filter(({ key, path }) => key !== path)).toEqual([])
  const placeOf = (name: string) => container.volumeMounts.find((mount) => mount.name === name)?.mountPath
  expect([placeOf('config'), placeOf('secrets')]).toEqual(['/etc/plimsoll', '/run/secrets'])
  // Its own token would be there, too.
  expect(pod.automountServiceAccountToken).toBe(false)

  const { dataDir, http } = parse(config) as { dataDir: string; http: { listen: string } }
  expect(dataDir).toMatch(new RegExp(`^${placeOf('data')}/.`))
  expect(container.ports[0]?.containerPort).toBe(Number(http.listen.split(':').at(-1)))
  expect([container.livenessProbe?.httpGet.path, container.readinessProbe.httpGet?.path]).toEqual([
    '/healthz',
    '/readyz',
  ])
})

test('its Redis is the one of compose, and neither may write elsewhere or gain a right', () => {
  const compose = parse(read('compose.yaml'), { merge: true }) as {
    services: { redis: { image: string; command: string[] } }
  }
  expect({ image: redis.container.image, command: redis.container.args }).toEqual({
    image: compose.services.redis.image,
    command: compose.services.redis.command,
  })
  for (const { container } of [plimsoll, redis]) {
    expect(container.securityContext).toEqual({
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    })
  }
})
