import type { MetricName } from '@switchyard/telemetry';
import { metric } from './prometheus.ts';

type Unit = 's' | 'reqps' | 'none' | 'short' | 'bytes' | 'percentunit' | 'currencyUSD';

interface Panel {
  title: string;
  unit: Unit;
  queries: readonly { expr: string; legend: string }[];
}

interface Row {
  title: string;
  panels: readonly Panel[];
}

const [COLUMNS, WIDTH, HEIGHT] = [24, 8, 8];

const RATE = '[$__rate_interval]';
const one = (expr: string, legend: string): Panel['queries'] => [{ expr, legend }];
const perSecond = (name: MetricName, by: string, suffix = ''): string => `sum by (${by}) (rate(${metric(name)}${suffix}${RATE}))`;
const quantile = (q: number, name: MetricName, by: string): string =>
  `histogram_quantile(${q}, sum by (le${by === '' ? '' : `, ${by}`}) (rate(${metric(name)}_bucket${RATE})))`;

const rows: readonly Row[] = [
  {
    title: 'The edge',
    panels: [
      { title: 'Calls', unit: 'reqps', queries: one(perSecond('switchyard.edge.calls', 'code'), '{{code}}') },
      {
        title: 'Requests by route',
        unit: 'reqps',
        queries: one(perSecond('http.server.request.duration', 'http_route', '_count'), '{{http_route}}'),
      },
      {
        title: 'Time of requests, p95',
        unit: 's',
        queries: one(quantile(0.95, 'http.server.request.duration', 'http_route'), '{{http_route}}'),
      },
      { title: 'Open connections', unit: 'short', queries: one(`sum by (kind) (${metric('switchyard.edge.sockets')})`, '{{kind}}') },
      { title: 'Unread bytes of WebSocket clients', unit: 'bytes', queries: one(metric('switchyard.edge.backlog'), '{{instance}}') },
      {
        title: 'Refused and failed requests',
        unit: 'reqps',
        queries: one(
          `sum by (http_response_status_code) (rate(${metric('http.server.request.duration')}_count{http_response_status_code=~"[45].."}${RATE}))`,
          '{{http_response_status_code}}',
        ),
      },
    ],
  },
  {
    title: 'Turns and models',
    panels: [
      {
        title: 'Completed turns',
        unit: 'reqps',
        queries: one(perSecond('switchyard.turn.duration', 'kind, outcome', '_count'), '{{kind}} {{outcome}}'),
      },
      {
        title: 'Duration and wait time of turns, p95',
        unit: 's',
        queries: [
          { expr: quantile(0.95, 'switchyard.turn.duration', 'kind'), legend: '{{kind}}' },
          { expr: quantile(0.95, 'switchyard.turn.wait', ''), legend: 'waiting' },
        ],
      },
      {
        title: 'Running and waiting turns',
        unit: 'short',
        queries: [
          { expr: `sum by (kind) (${metric('switchyard.turn.running')})`, legend: '{{kind}}' },
          { expr: `max(${metric('switchyard.turn.waiting')})`, legend: 'waiting' },
        ],
      },
      {
        title: 'Model calls',
        unit: 'reqps',
        queries: one(
          perSecond('gen_ai.client.operation.duration', 'gen_ai_request_model, error_type', '_count'),
          '{{gen_ai_request_model}} {{error_type}}',
        ),
      },
      {
        title: 'Time to first token, p95',
        unit: 's',
        queries: one(quantile(0.95, 'gen_ai.client.operation.time_to_first_chunk', 'gen_ai_request_model'), '{{gen_ai_request_model}}'),
      },
      {
        title: 'Tokens a second',
        unit: 'short',
        queries: one(
          perSecond('gen_ai.client.token.usage', 'gen_ai_request_model, gen_ai_token_type', '_sum'),
          '{{gen_ai_request_model}} {{gen_ai_token_type}}',
        ),
      },
      {
        title: 'Cost per hour',
        unit: 'currencyUSD',
        queries: one(`${perSecond('switchyard.model.cost', 'gen_ai_request_model')} * 3600`, '{{gen_ai_request_model}}'),
      },
      {
        title: 'Retried attempts',
        unit: 'reqps',
        queries: one(perSecond('switchyard.model.retries', 'gen_ai_provider_name, error_type'), '{{gen_ai_provider_name}} {{error_type}}'),
      },
    ],
  },
  {
    title: 'Services',
    panels: [
      { title: 'Calls answered', unit: 'reqps', queries: one(perSecond('switchyard.method.duration', 'service', '_count'), '{{service}}') },
      {
        title: 'Errors by code',
        unit: 'reqps',
        queries: one(
          `sum by (service, code) (rate(${metric('switchyard.method.duration')}_count{code!="OK"}${RATE}))`,
          '{{service}} {{code}}',
        ),
      },
      {
        title: 'Slowest methods, p95',
        unit: 's',
        queries: one(`topk(10, ${quantile(0.95, 'switchyard.method.duration', 'service, method')})`, '{{service}} {{method}}'),
      },
      {
        title: 'Queues and pools',
        unit: 'short',
        queries: [
          { expr: `sum by (service) (${metric('switchyard.method.running')})`, legend: '{{service}} running' },
          { expr: `sum by (service) (${metric('switchyard.bus.pending')})`, legend: '{{service}} pending calls' },
          { expr: `sum by (service) (${metric('switchyard.store.queue')})`, legend: '{{service}} pending database operations' },
          { expr: `sum by (service) (${metric('switchyard.store.outbox')})`, legend: '{{service}} publishing' },
        ],
      },
      {
        title: 'Buffered during a bus outage',
        unit: 'bytes',
        queries: one(`sum by (service) (${metric('switchyard.bus.held')})`, '{{service}}'),
      },
      {
        title: 'Replicas',
        unit: 'short',
        queries: one(`count by (service, version) (${metric('switchyard.service.info')})`, '{{service}} {{version}}'),
      },
      {
        title: 'Unavailable dependencies',
        unit: 'short',
        queries: [
          { expr: `${metric('switchyard.ready')}{dependency!="all"} == 0`, legend: '{{instance}} {{dependency}}' },
          { expr: `${metric('switchyard.bus.connected')} == 0`, legend: '{{service}} bus' },
        ],
      },
    ],
  },
  {
    title: 'Jobs, graphs, browsers, media and skills',
    panels: [
      {
        title: 'Wait for a person, p95',
        unit: 's',
        queries: one(quantile(0.95, 'switchyard.approval.wait', 'kind, outcome'), '{{kind}} {{outcome}}'),
      },
      {
        title: 'Duration of sub-agents, p95',
        unit: 's',
        queries: one(quantile(0.95, 'switchyard.subagent.duration', 'outcome'), '{{outcome}}'),
      },
      { title: 'Rejected sub-agents', unit: 'reqps', queries: one(perSecond('switchyard.subagent.rejected', 'reason'), '{{reason}}') },
      { title: 'Ended runs of jobs', unit: 'reqps', queries: one(perSecond('switchyard.cron.runs', 'status'), '{{status}}') },
      { title: 'Delay of jobs, p95', unit: 's', queries: one(quantile(0.95, 'switchyard.cron.delay', ''), 'p95') },
      { title: 'Heartbeats', unit: 'reqps', queries: one(perSecond('switchyard.heartbeat.beats', 'outcome'), '{{outcome}}') },
      { title: 'Duration of graphs, p95', unit: 's', queries: one(quantile(0.95, 'switchyard.graph.duration', 'outcome'), '{{outcome}}') },
      { title: 'Wait of graph steps for a slot, p95', unit: 's', queries: one(quantile(0.95, 'switchyard.graph.step.wait', ''), 'p95') },
      {
        title: 'Media providers, p95',
        unit: 's',
        queries: one(quantile(0.95, 'switchyard.media.duration', 'kind, provider'), '{{kind}} {{provider}}'),
      },
      { title: 'Parsed documents', unit: 'reqps', queries: one(perSecond('switchyard.media.documents', 'outcome'), '{{outcome}}') },
      {
        title: 'Browsers',
        unit: 'short',
        queries: [
          { expr: `sum(${metric('switchyard.browser.running')})`, legend: 'browsers' },
          { expr: `sum(${metric('switchyard.browser.sessions')})`, legend: 'sessions' },
        ],
      },
      { title: 'Starts of browsers', unit: 'reqps', queries: one(perSecond('switchyard.browser.starts', 'outcome'), '{{outcome}}') },
      { title: 'Ends of browsers', unit: 'reqps', queries: one(perSecond('switchyard.browser.ends', 'reason'), '{{reason}}') },
      {
        title: 'Uses of skills',
        unit: 'reqps',
        queries: one(perSecond('switchyard.skill.uses', 'caller, outcome'), '{{caller}} {{outcome}}'),
      },
      { title: 'Published skills of agents', unit: 'reqps', queries: one(perSecond('switchyard.skill.offers', 'outcome'), '{{outcome}}') },
      { title: 'Events to ingest', unit: 'short', queries: one(`max(${metric('switchyard.observability.lag')})`, 'lag') },
      { title: 'Ingested events', unit: 'reqps', queries: one(perSecond('switchyard.observability.events', 'outcome'), '{{outcome}}') },
    ],
  },
  {
    title: 'Processes',
    panels: [
      {
        title: 'Processor',
        unit: 'percentunit',
        queries: one(`sum by (instance) (rate(${metric('process.cpu.time')}${RATE}))`, '{{instance}}'),
      },
      {
        title: 'Memory',
        unit: 'bytes',
        queries: [
          { expr: metric('process.memory.usage'), legend: '{{instance}}' },
          { expr: metric('v8js.memory.heap.used'), legend: '{{instance}} heap' },
        ],
      },
      {
        title: 'Event loop delay',
        unit: 's',
        queries: [
          { expr: metric('nodejs.eventloop.delay.p50'), legend: '{{instance}} p50' },
          { expr: metric('nodejs.eventloop.delay.p99'), legend: '{{instance}} p99' },
          { expr: metric('nodejs.eventloop.delay.max'), legend: '{{instance}} max' },
        ],
      },
      { title: 'Event loop utilization', unit: 'percentunit', queries: one(metric('nodejs.eventloop.utilization'), '{{instance}}') },
      { title: 'Running for', unit: 's', queries: one(metric('process.uptime'), '{{instance}}') },
      { title: 'Applied configuration version', unit: 'none', queries: one(metric('switchyard.config.revision'), '{{instance}}') },
    ],
  },
];

/** The dashboard as Grafana imports it. */
export function grafanaDashboard(): string {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: own } of rows) {
    panels.push({ id: panels.length + 1, type: 'row', title, collapsed: false, gridPos: { x: 0, y: y++, w: COLUMNS, h: 1 }, panels: [] });
    for (const [at, panel] of own.entries()) {
      const x = (at * WIDTH) % COLUMNS;
      panels.push({ id: panels.length + 1, gridPos: { x, y, w: WIDTH, h: HEIGHT }, ...panelJson(panel) });
      if (x + WIDTH === COLUMNS || at === own.length - 1) y += HEIGHT;
    }
  }
  return `${JSON.stringify(dashboard(panels), null, 2)}\n`;
}

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

function panelJson({ title, unit, queries }: Panel): object {
  return {
    type: 'timeseries',
    title,
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit, custom: { fillOpacity: 10, showPoints: 'never' } }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode(65 + at),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

function dashboard(panels: readonly object[]): object {
  return {
    uid: 'switchyard',
    title: 'Switchyard',
    tags: ['switchyard'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' }] },
    panels,
  };
}
