import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import {
  createJsonSchemaTransform,
  createJsonSchemaTransformObject,
  validatorCompiler,
} from 'fastify-type-provider-zod'
import packageJson from '../../../package.json' with { type: 'json' }
import { OPERATIONS } from '../../operations/all-operations.ts'
import type { OperationDeps } from '../../operations/deps.ts'
import { asDocumented } from '../../operations/fields.ts'
import { AnyObjectShape } from '../../views/shapes/installation.ts'
import { addOperation } from './operation-route.ts'

/** Everything that Plimsoll can be asked for, for programs and for the command line; and the document about it. */
export function apiOf(deps: OperationDeps): FastifyPluginAsync {
  return (app) => serveApi(app, deps)
}

async function serveApi(app: FastifyInstance, deps: OperationDeps): Promise<void> {
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(swagger, {
    openapi: documentOf(deps.publicUrl),
    stripBasePath: true,
    transform: createJsonSchemaTransform({ zodToJsonConfig: { override: asDocumented } }),
    transformObject: (document) => withOptionalBodies(components(document)),
  })
  const [files, others] = [
    OPERATIONS.filter(({ takesFile }) => takesFile),
    OPERATIONS.filter(({ takesFile }) => !takesFile),
  ]
  for (const operation of others) addOperation(app, operation, deps)
  app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    for (const operation of files) addOperation(scope, operation, deps)
    done()
  })
  let text: string | undefined
  const describe = () => JSON.stringify(app.swagger())
  app.route({
    method: 'GET',
    url: '/openapi.json',
    config: { scope: 'read' },
    schema: {
      operationId: 'showDocument',
      summary: 'This document',
      description: 'Scope: read.',
      tags: ['openapi.json'],
      security: [{ adminToken: ['read'] }],
      response: { 200: { description: 'OpenAPI 3.1.', content: { 'application/json': { schema: AnyObjectShape } } } },
    },
    handler: (_request, reply) => {
      text ??= describe()
      return reply.type('application/json; charset=utf-8').send(text)
    },
  })
}

const components = createJsonSchemaTransformObject({ zodToJsonConfig: { override: asDocumented } })

/** A body without required fields may be absent. */
function withOptionalBodies(document: ReturnType<typeof components>): ReturnType<typeof components> {
  const { paths } = document as { paths: Record<string, Record<string, { requestBody?: RequestBody }>> }
  for (const { requestBody } of Object.values(paths).flatMap(Object.values)) {
    const { required = [] } = requestBody?.content['application/json']?.schema ?? {}
    if (requestBody !== undefined) requestBody.required = required.length > 0
  }
  return document
}

interface RequestBody {
  required?: boolean
  content: Record<string, { schema: { required?: string[] } } | undefined>
}

const ABOUT = `JSON for programs: the same facts as the status pages show, and all that the command line does.

Times are ISO 8601, UTC; null means never. Lists have \`items\`, and \`next\` while there is more: it goes back in as
\`after\`. Every other answer is a problem (RFC 9457); its \`type\` names it.

Within /api/v1 nothing is renamed, removed or given another meaning. Fields, values of \`type\` and addresses are added:
take no offence at one that you don't know.`

function documentOf(publicUrl: string) {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Plimsoll',
      version: packageJson.version,
      description: ABOUT,
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    servers: [{ url: `${publicUrl}/api/v1` }],
    components: {
      securitySchemes: {
        adminToken: {
          type: 'http' as const,
          scheme: 'bearer',
          description:
            'An admin token: `plimsoll admin-tokens add`. Its scopes are read, tokens, write and audit. For reading, the cookie of ' +
            'a signed-in browser does too.',
        },
      },
    },
  }
}
