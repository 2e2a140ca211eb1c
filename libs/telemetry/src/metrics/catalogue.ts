import type { MetricDefinition } from './definition.ts';

/** From a call that is answered in memory to a turn of minutes: each bound is about two or two and a half times the one before. */
const CALL_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const TURN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Those of the conventions for generative models. */
const MODEL_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_CHUNK_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];

const MODEL_LABELS = ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model'] as const;

/**
 * Every metric, declared once: what counts it, the page of the reference, the alerts and the dashboard read it here. Names of
 * OpenTelemetry's conventions are used where there is one for the thing; all others begin with `switchyard.`.
 */
export const METRICS = {
  'http.server.request.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Requests that the edge answered, from their first byte to the end of the answer. WebSockets are not among them.',
    labels: ['http.request.method', 'http.route', 'http.response.status_code'],
    bounds: CALL_SECONDS,
  },
  'switchyard.edge.calls': {
    kind: 'counter',
    unit: '{call}',
    help: 'JSON-RPC calls that the edge took, over HTTP and WebSockets, by how they ended. Names that are no method are `other`.',
    labels: ['method', 'code'],
  },
  'switchyard.edge.sockets': { kind: 'gauge', unit: '{socket}', help: 'Open connections of clients.', labels: ['kind'] },
  'switchyard.edge.backlog': {
    kind: 'gauge',
    unit: 'By',
    help: 'Bytes that wait to be read by clients of WebSockets.',
    labels: [],
  },
  'switchyard.method.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Calls that a service answered, from the message to the end of the answer. `code` is OK or the code of the error.',
    labels: ['service', 'method', 'code'],
    bounds: CALL_SECONDS,
  },
  'switchyard.method.running': { kind: 'gauge', unit: '{call}', help: 'Calls that a service is working on.', labels: ['service'] },
  'switchyard.bus.pending': { kind: 'gauge', unit: '{call}', help: 'Calls of a service that wait for their answers.', labels: ['service'] },
  'switchyard.bus.connected': { kind: 'gauge', unit: '', help: 'Whether a service reaches the bus: 1 or 0.', labels: ['service'] },
  'switchyard.bus.held': {
    kind: 'gauge',
    unit: 'By',
    help: 'Bytes that a service holds for a bus that cannot be reached; beyond 16 MiB, and after five seconds, they are refused.',
    labels: ['service'],
  },
  'switchyard.store.queue': {
    kind: 'gauge',
    unit: '{write}',
    help: 'Reads and writes of a service that wait for its database.',
    labels: ['service'],
  },
  'switchyard.store.outbox': {
    kind: 'gauge',
    unit: '{document}',
    help: 'Documents of a service whose events are being published by this replica.',
    labels: ['service'],
  },
  'switchyard.turn.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Turns that ended here, from their acceptance. `outcome` is the reason of the finish, or the code of the error.',
    labels: ['kind', 'outcome'],
    bounds: TURN_SECONDS,
  },
  'switchyard.turn.wait': {
    kind: 'histogram',
    unit: 's',
    help: 'How long durable turns that began here had waited for their session and for a free place.',
    labels: [],
    bounds: TURN_SECONDS,
  },
  'switchyard.turn.running': { kind: 'gauge', unit: '{turn}', help: 'Turns that run here.', labels: ['kind'] },
  'switchyard.turn.waiting': {
    kind: 'gauge',
    unit: '{turn}',
    help: 'Durable turns of all tenants that wait to begin, on whatever replica: the same number from each.',
    labels: [],
  },
  'gen_ai.client.operation.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Model calls, with their retries. A model that no catalogue lists is `other`; `error_type` is empty for those that worked.',
    labels: [...MODEL_LABELS, 'error.type'],
    bounds: MODEL_SECONDS,
  },
  'gen_ai.client.operation.time_to_first_chunk': {
    kind: 'histogram',
    unit: 's',
    help: 'How long model calls let their callers wait for the first part of the answer.',
    labels: MODEL_LABELS,
    bounds: FIRST_CHUNK_SECONDS,
  },
  'gen_ai.client.token.usage': {
    kind: 'histogram',
    unit: '{token}',
    help: 'Tokens of model calls that worked, input and output apart.',
    labels: [...MODEL_LABELS, 'gen_ai.token.type'],
    bounds: TOKENS,
  },
  'switchyard.model.retries': {
    kind: 'counter',
    unit: '{attempt}',
    help: 'Attempts at model calls that failed and were made again.',
    labels: ['gen_ai.provider.name', 'error.type'],
  },
  'switchyard.model.cost': {
    kind: 'counter',
    unit: 'USD',
    help: 'What model calls cost, by the prices of the catalogue.',
    labels: ['gen_ai.provider.name', 'gen_ai.request.model'],
  },
  'switchyard.ready': {
    kind: 'gauge',
    unit: '',
    help: 'Whether the process can do work (`all`), and whether each thing it needs is there: 1 or 0.',
    labels: ['dependency'],
  },
  'switchyard.service.info': {
    kind: 'gauge',
    unit: '',
    help: 'Always 1: which service runs here, as which replica, in which version.',
    labels: ['service', 'replica', 'version'],
  },
  'switchyard.config.revision': {
    kind: 'gauge',
    unit: '',
    help: 'The revision of the stored configuration that is in force here.',
    labels: [],
  },
  'process.cpu.time': { kind: 'counter', unit: 's', help: 'Processor time.', labels: ['cpu.mode'] },
  'process.memory.usage': { kind: 'gauge', unit: 'By', help: 'Resident memory.', labels: [] },
  'process.uptime': { kind: 'gauge', unit: 's', help: 'Since the start of the process.', labels: [] },
  'v8js.memory.heap.used': { kind: 'gauge', unit: 'By', help: 'What lives in the heap, or is not collected yet.', labels: [] },
  'nodejs.eventloop.delay.p50': { kind: 'gauge', unit: 's', help: 'How late the event loop came, in half of the cases.', labels: [] },
  'nodejs.eventloop.delay.p99': { kind: 'gauge', unit: 's', help: 'How late the event loop came, in one of a hundred cases.', labels: [] },
  'nodejs.eventloop.delay.max': { kind: 'gauge', unit: 's', help: 'How late the event loop came at worst.', labels: [] },
  'nodejs.eventloop.utilization': { kind: 'gauge', unit: '1', help: 'The part of the time in which the event loop had work.', labels: [] },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof METRICS;
export type NameOf<K extends MetricDefinition['kind']> = {
  [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never;
}[MetricName];
export type Labels<N extends MetricName> = Readonly<Record<(typeof METRICS)[N]['labels'][number], string>>;

/** All there are, by name. */
export const metricDefinitions: ReadonlyMap<string, MetricDefinition> = new Map(Object.entries(METRICS));
