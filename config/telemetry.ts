import * as z from 'zod'
import { isPlainHttpElsewhere } from './addresses.ts'
import { related } from './relations.ts'
import { secret, text, toggle, webAddress } from './values.ts'

export const telemetry = related(
  z.strictObject({
    url: webAddress({ strip: false }).describe(
      'Where traces go, as OTLP over HTTP with JSON; of a collector on this machine: http://127.0.0.1:4318/v1/traces.',
    ),
    service: text().prefault('plimsoll').describe('What the traces call this service.'),
    authorization: secret().exactOptional().describe('The Authorization header that the collector asks for.'),
    insecure: toggle().prefault(false).describe('Allows http://, for collectors in your own network.'),
  }),
  ({ url, insecure }, report) => {
    if (typeof url !== 'string' || insecure === true || !isPlainHttpElsewhere(url)) return
    report(['url'], 'must start with https:// (http:// needs insecure: true, or a host that is this machine)')
  },
).describe(
  'Traces of what the daemon does, from tick to delivery, for a collector of OpenTelemetry. They name no account.',
)
