import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { planRules } from '../../src/app/plan-rules.ts'
import { systemClock } from '../../src/runtime/clock.ts'

const folder = mkdtempSync(join(tmpdir(), 'plimsoll-plan-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
writeFileSync(join(folder, 'client-secret'), 'secret-of-file\n')

const SECRET = 'hidden4711'
const place = { file: join(folder, 'in-force.yaml'), env: { HIDDEN: SECRET, NUMBER: '77' }, cwd: '/' }

function plan(thresholds: string, clientSecret = 'clientSecretFile: client-secret') {
  const text = `provider: { clientId: "\${HIDDEN}", ${clientSecret} }
http: { publicUrl: "https://\${HIDDEN}.example.com" }
receivers: { ops: { type: slack, url: "https://hooks.slack.com/\${HIDDEN}" } }
routes: [{ to: [ops] }]
thresholds: [${thresholds}]
`
  return planRules(place, systemClock, { text, name: '/elsewhere/new.yaml' })
}

test('rules are read as if their file were beside the one in force, and nothing of environment and files is among them', () => {
  const planned = plan('{ on: customProperties.overall, name: calm, warning: { percent: 91 } }')
  expect(planned).toMatchObject({ is: 'rules', inForce: place.file })
  if (planned.is !== 'rules') throw new Error('refused')
  expect(planned.rules.rules[0]).toMatchObject({ name: 'calm', warning: { percent: 91 } })
  expect(JSON.stringify(planned)).not.toMatch(/hidden4711|secret-of-file/)
})

test.each([
  ['a name', '{ on: customProperties.overall, name: "${HIDDEN}", warning: { percent: 91 } }', 'thresholds[0].name'],
  ['a number', '{ on: customProperties.overall, warning: { percent: "${NUMBER}" } }', 'thresholds[0].warning.percent'],
])('%s of a threshold that would come from the environment is refused: the plan would show it', (_, rule, field) => {
  const planned = plan(rule)
  const why = expect.stringMatching(/^\/elsewhere\/new\.yaml:5:\d+ thresholds.* must be written out here/)
  expect(planned).toEqual({ is: 'refused', faults: [{ field, why }] })
  expect(JSON.stringify(planned)).not.toMatch(/hidden4711|77/)
})

test('all that is wrong is named, and a device is not read', () => {
  const planned = plan('{ on: customPropertie.overall, warning: { percent: 91 } }', 'clientSecretFile: /dev/zero')
  expect(planned).toMatchObject({
    is: 'refused',
    faults: [{ field: 'provider.clientSecretFile' }, { field: 'thresholds[0].on' }],
  })
})
