import type { MetricDefinition } from './metric-definition.ts';

/** From calls answered in memory to turns of minutes. Each bound is about 2 to 2.5 times the previous one. */
const CALL_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const TURN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const GRAPH_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_500, 3_600, 14_400, 86_400];
/** Bounds of the OpenTelemetry conventions for generative AI. */
const MODEL_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_CHUNK_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];

const MODEL_LABELS = ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model'] as const;

/**
 * All metrics. The instruments, the reference page, the alerts and the dashboard use these declarations. Names follow the conventions
 * of OpenTelemetry where one exists; all others begin with `switchyard.`.
 */
export const METRICS = {
  'http.server.request.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Duration of HTTP requests at the gateway, from first byte to end of the response, without WebSockets.',
    labels: ['http.request.method', 'http.route', 'http.response.status_code'],
    bounds: CALL_SECONDS,
  },
  'switchyard.edge.calls': {
    kind: 'counter',
    unit: '{call}',
    help: 'JSON-RPC calls at the gateway over HTTP and WebSockets, by result code. Unknown methods are `other`.',
    labels: ['method', 'code'],
  },
  'switchyard.edge.sockets': { kind: 'gauge', unit: '{socket}', help: 'Open client connections.', labels: ['kind'] },
  'switchyard.edge.backlog': {
    kind: 'gauge',
    unit: 'By',
    help: 'Bytes not yet read by WebSocket clients.',
    labels: [],
  },
  'switchyard.media.documents': {
    kind: 'counter',
    unit: '{document}',
    help: 'Documents and pages that a parser process read, by outcome: parsed, a kind of refusal, timed_out, crashed.',
    labels: ['outcome'],
  },
  'switchyard.media.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Duration of calls to media providers: transcription, speech, image, vision, video.',
    labels: ['kind', 'provider', 'outcome'],
    bounds: MODEL_SECONDS,
  },
  'switchyard.browser.running': { kind: 'gauge', unit: '{browser}', help: 'Browsers running in this process.', labels: [] },
  'switchyard.browser.sessions': { kind: 'gauge', unit: '{session}', help: 'Open sessions of the browsers in this process.', labels: [] },
  'switchyard.browser.starts': {
    kind: 'counter',
    unit: '{start}',
    help: 'Starts of Chromium. `outcome` is started or the error code.',
    labels: ['outcome'],
  },
  'switchyard.browser.ends': {
    kind: 'counter',
    unit: '{end}',
    help: 'Ended browsers. `reason` is stopped, crashed, or lost for a lease that another replica has.',
    labels: ['reason'],
  },
  'switchyard.skill.uses': {
    kind: 'counter',
    unit: '{use}',
    help: 'Uses of skills. `caller` is model or user; `outcome` is used or the error code.',
    labels: ['caller', 'outcome'],
  },
  'switchyard.skill.offers': {
    kind: 'counter',
    unit: '{offer}',
    help: 'Published lists of the skills of an agent. `outcome` is published or failed.',
    labels: ['outcome'],
  },
  'switchyard.method.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Duration of calls in a service, from message to end of the reply. `code` is OK or the error code.',
    labels: ['service', 'method', 'code'],
    bounds: CALL_SECONDS,
  },
  'switchyard.method.running': { kind: 'gauge', unit: '{call}', help: 'Calls running in a service.', labels: ['service'] },
  'switchyard.bus.pending': {
    kind: 'gauge',
    unit: '{call}',
    help: 'Outgoing calls of a service that wait for a reply.',
    labels: ['service'],
  },
  'switchyard.bus.connected': { kind: 'gauge', unit: '', help: 'Whether a service is connected to the bus: 1 or 0.', labels: ['service'] },
  'switchyard.bus.held': {
    kind: 'gauge',
    unit: 'By',
    help: 'Bytes that a service holds while the bus is unreachable; at most 16 MiB and five seconds.',
    labels: ['service'],
  },
  'switchyard.store.queue': {
    kind: 'gauge',
    unit: '{write}',
    help: 'Reads and writes of a service that wait for the database.',
    labels: ['service'],
  },
  'switchyard.store.outbox': {
    kind: 'gauge',
    unit: '{document}',
    help: 'Documents of a service whose events this replica is publishing.',
    labels: ['service'],
  },
  'switchyard.turn.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Duration of turns that ended here, from acceptance. `outcome` is the finish reason or the error code.',
    labels: ['kind', 'outcome'],
    bounds: TURN_SECONDS,
  },
  'switchyard.turn.wait': {
    kind: 'histogram',
    unit: 's',
    help: 'Time that durable turns waited for their session and a free slot.',
    labels: [],
    bounds: TURN_SECONDS,
  },
  'switchyard.turn.running': { kind: 'gauge', unit: '{turn}', help: 'Turns running in this process.', labels: ['kind'] },
  'switchyard.turn.waiting': {
    kind: 'gauge',
    unit: '{turn}',
    help: 'Waiting durable turns of all tenants and replicas; each replica reports the same number.',
    labels: [],
  },
  'switchyard.approval.wait': {
    kind: 'histogram',
    unit: 's',
    help: 'Time from a request to its verdict. `kind` is approval, question or order (of a service); `outcome` is approved, denied or expired.',
    labels: ['kind', 'outcome'],
    bounds: GRAPH_SECONDS,
  },
  'switchyard.subagent.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Duration of ended runs of sub-agents, from their request. `outcome` is the end reason.',
    labels: ['outcome'],
    bounds: TURN_SECONDS,
  },
  'switchyard.subagent.rejected': {
    kind: 'counter',
    unit: '{run}',
    help: 'Rejected runs of sub-agents. `reason` is that of the event `session:sub_agent_spawn_rejected`.',
    labels: ['reason'],
  },
  'switchyard.cron.runs': {
    kind: 'counter',
    unit: '{run}',
    help: 'Ended runs of jobs. `status` is ok, error or skipped.',
    labels: ['status'],
  },
  'switchyard.cron.delay': {
    kind: 'histogram',
    unit: 's',
    help: 'Time from the instant at which a run was due until its turn was ordered.',
    labels: [],
    bounds: TURN_SECONDS,
  },
  'switchyard.heartbeat.beats': {
    kind: 'counter',
    unit: '{beat}',
    help: 'Ended heartbeats. `outcome` is ok, alert, critical, skipped or error.',
    labels: ['outcome'],
  },
  'switchyard.graph.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Duration of graph runs that ended here. `outcome` is completed, failed or cancelled; `reason` is timeout, budget, manual or empty.',
    labels: ['outcome', 'reason'],
    bounds: GRAPH_SECONDS,
  },
  'switchyard.graph.step.wait': {
    kind: 'histogram',
    unit: 's',
    help: 'Time that steps of graphs waited for a slot of their tenant before their turn was ordered.',
    labels: [],
    bounds: TURN_SECONDS,
  },
  'gen_ai.client.operation.duration': {
    kind: 'histogram',
    unit: 's',
    help: 'Duration of model calls with retries. Models outside the catalogue are `other`; `error_type` is empty on success.',
    labels: [...MODEL_LABELS, 'error.type'],
    bounds: MODEL_SECONDS,
  },
  'gen_ai.client.operation.time_to_first_chunk': {
    kind: 'histogram',
    unit: 's',
    help: 'Time to the first chunk of model calls.',
    labels: MODEL_LABELS,
    bounds: FIRST_CHUNK_SECONDS,
  },
  'gen_ai.client.token.usage': {
    kind: 'histogram',
    unit: '{token}',
    help: 'Input and output tokens of successful model calls.',
    labels: [...MODEL_LABELS, 'gen_ai.token.type'],
    bounds: TOKENS,
  },
  'switchyard.model.retries': {
    kind: 'counter',
    unit: '{attempt}',
    help: 'Failed attempts of model calls that were retried.',
    labels: ['gen_ai.provider.name', 'error.type'],
  },
  'switchyard.model.cost': {
    kind: 'counter',
    unit: 'USD',
    help: 'Cost of model calls by catalogue prices.',
    labels: ['gen_ai.provider.name', 'gen_ai.request.model'],
  },
  'switchyard.ready': {
    kind: 'gauge',
    unit: '',
    help: 'Readiness of the process (`all`) and of each dependency: 1 or 0.',
    labels: ['dependency'],
  },
  'switchyard.service.info': {
    kind: 'gauge',
    unit: '',
    help: 'Always 1; the labels contain service, replica and version.',
    labels: ['service', 'replica', 'version'],
  },
  'switchyard.config.revision': {
    kind: 'gauge',
    unit: '',
    help: 'Revision of the stored configuration in this process.',
    labels: [],
  },
  'process.cpu.time': { kind: 'counter', unit: 's', help: 'CPU time.', labels: ['cpu.mode'] },
  'process.memory.usage': { kind: 'gauge', unit: 'By', help: 'Resident memory.', labels: [] },
  'process.uptime': { kind: 'gauge', unit: 's', help: 'Time since the start of the process.', labels: [] },
  'v8js.memory.heap.used': { kind: 'gauge', unit: 'By', help: 'Used heap, including garbage that is not collected.', labels: [] },
  'nodejs.eventloop.delay.p50': { kind: 'gauge', unit: 's', help: 'Event-loop delay, median.', labels: [] },
  'nodejs.eventloop.delay.p99': { kind: 'gauge', unit: 's', help: 'Event-loop delay, 99th percentile.', labels: [] },
  'nodejs.eventloop.delay.max': { kind: 'gauge', unit: 's', help: 'Event-loop delay, maximum.', labels: [] },
  'nodejs.eventloop.utilization': { kind: 'gauge', unit: '1', help: 'Share of time in which the event loop was busy.', labels: [] },
  'switchyard.observability.lag': {
    kind: 'gauge',
    unit: '{event}',
    help: 'Events in the event log that are not ingested yet.',
    labels: [],
  },
  'switchyard.observability.events': {
    kind: 'counter',
    unit: '{event}',
    help: 'Events read from the event log, by outcome: record, diagnostic, unreadable, ignored; `lost` were removed from the log before, `recovered` were read from their services after the log was lost.',
    labels: ['outcome'],
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof METRICS;
export type NameOf<K extends MetricDefinition['kind']> = {
  [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never;
}[MetricName];
export type Labels<N extends MetricName> = Readonly<Record<(typeof METRICS)[N]['labels'][number], string>>;

/** All metric definitions by name. */
export const metricDefinitions: ReadonlyMap<string, MetricDefinition> = new Map(Object.entries(METRICS));
