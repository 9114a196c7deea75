import {
  type Attributes,
  type Context,
  context,
  type Link,
  propagation,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  type Sampler,
  SamplingDecision,
  type SamplingResult,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from './logger.ts'
import type { Secret } from './secret.ts'
import type { Tracing } from './tracing.ts'

/*
 * Loaded only where the config has a collector: all of OpenTelemetry comes with it.
 */

export interface TracingSettings {
  url: string
  service: string
  authorization?: Secret
  version: string
}

export interface OpenTracing extends Tracing {
  /** Sends what is left. The stop waits for it. */
  stop(): Promise<void>
}

/** A collector that is away costs no more than this: what does not fit is forgotten. */
const MOST_KEPT = 2_048
const SENT_EVERY_MS = 2_000
const SENT_WITHIN_MS = 5_000

/** For the whole process: spans of BullMQ, and of ours, know of each other by what is set here. */
export function openTracing({ url, service, authorization, version }: TracingSettings, log: Logger): OpenTracing {
  const headers: Record<string, string> = {}
  if (authorization !== undefined) headers.authorization = authorization.reveal()
  const exporter = tellingOnce(new OTLPTraceExporter({ url, headers, timeoutMillis: SENT_WITHIN_MS }), log)
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'service.version': version }),
    sampler: new SomeSpans(),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: MOST_KEPT,
        scheduledDelayMillis: SENT_EVERY_MS,
        exportTimeoutMillis: SENT_WITHIN_MS,
      }),
    ],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new TraceParent())
  trace.setGlobalTracerProvider(provider)
  const tracer = provider.getTracer('plimsoll', version)
  return {
    span: (name, facts, work) =>
      tracer.startActiveSpan(name, { attributes: { ...facts } }, async (span) => {
        try {
          return await work()
        } catch (error) {
          // Not its message: that is for the log, which takes secrets out.
          span.setStatus({ code: SpanStatusCode.ERROR })
          throw error
        } finally {
          span.end()
        }
      }),
    note: (facts) => void trace.getActiveSpan()?.setAttributes({ ...facts }),
    stop: () => provider.shutdown(),
  }
}

/** A collector that is away is logged once until it is back, and nothing else. */
function tellingOnce(exporter: SpanExporter, log: Logger): SpanExporter {
  let isAway = false
  return {
    export: (spans, done) =>
      exporter.export(spans, ({ code, error }) => {
        if (code !== 0 && !isAway)
          log.warn({ code: 'telemetry.away', reason: reasonOf(error) }, 'no collector: traces are lost')
        if (code === 0 && isAway) log.info({ code: 'telemetry.back' }, 'the collector takes traces again')
        isAway = code !== 0
        done({ code: 0 })
      }),
    shutdown: () => exporter.shutdown(),
  }
}

/** Never its text: the collector's answer may repeat what was sent. */
function reasonOf(error: Error | undefined): string {
  const code = (error as { code?: unknown } | undefined)?.code
  return typeof code === 'string' || typeof code === 'number' ? String(code) : (error?.name ?? 'unknown')
}

/** The header of W3C Trace Context, in what BullMQ keeps with a job. */
class TraceParent implements TextMapPropagator {
  inject(of: Context, carrier: unknown, setter: TextMapSetter): void {
    const span = trace.getSpanContext(of)
    if (span === undefined || span.traceFlags !== TraceFlags.SAMPLED) return
    setter.set(carrier, 'traceparent', `00-${span.traceId}-${span.spanId}-01`)
  }

  extract(into: Context, carrier: unknown, getter: TextMapGetter): Context {
    const header = getter.get(carrier, 'traceparent')
    const [, traceId = '', spanId = ''] = /^00-([\da-f]{32})-([\da-f]{16})-01$/.exec(String(header)) ?? []
    if (traceId === '') return into
    return trace.setSpanContext(into, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true })
  }

  fields(): string[] {
    return ['traceparent']
  }
}

/** What our own spans' facts begin with. */
const OURS = 'plimsoll.'

/**
 * Our own spans, and those of jobs that are added and worked on. Of BullMQ's others most show only that there was nothing to
 * do, some thousand times an hour.
 */
class SomeSpans implements Sampler {
  shouldSample(
    _context: Context,
    _traceId: string,
    _name: string,
    kind: SpanKind,
    attributes: Attributes,
    _links: Link[],
  ): SamplingResult {
    const isJob = kind === SpanKind.PRODUCER || kind === SpanKind.CONSUMER
    const isOurs = Object.keys(attributes).some((name) => name.startsWith(OURS))
    return { decision: isJob || isOurs ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD }
  }

  toString(): string {
    return 'SomeSpans'
  }
}
