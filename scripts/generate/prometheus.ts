import { isBuilt, GATEWAY_DEPENDENCIES, SERVICES } from '@switchyard/contracts';
import { METRICS, prometheusName, type MetricName } from '@switchyard/telemetry';

/** The name of a declared metric in queries. */
export function metric(name: MetricName): string {
  return prometheusName(name, METRICS[name]);
}

const METRICS_PORT = 9464;

/** The configuration of Prometheus: all replicas behind the service names, and the alerts. */
export function prometheusConfig(): string {
  return `# Written by \`make generate\` from the contracts; do not edit it.
# Each service is a name under which its replicas are found (a headless service, a service of compose), and each
# replica serves its metrics: SWITCHYARD_METRICS_PORT=${METRICS_PORT}, SWITCHYARD_PROBE_HOST=0.0.0.0, in a network of their own.
global:
  scrape_interval: 15s
  evaluation_interval: 15s
rule_files: [alerts.yml]
scrape_configs:
  - job_name: switchyard
    dns_sd_configs:
      - names: [${SERVICES.filter(isBuilt).join(', ')}]
        type: A
        port: ${METRICS_PORT}
`;
}

interface Alert {
  name: string;
  expr: string;
  for: string;
  severity: 'critical' | 'warning';
  /** Distinguishes alerts with the same name. */
  service?: string;
  summary: string;
}

const method = metric('switchyard.method.duration');
const turns = metric('switchyard.turn.duration');
const graphs = metric('switchyard.graph.duration');
const models = metric('gen_ai.client.operation.duration');
const calls = metric('switchyard.edge.calls');
const media = metric('switchyard.media.duration');
const browserStarts = metric('switchyard.browser.starts');
const runs = metric('switchyard.cron.runs');
const beats = metric('switchyard.heartbeat.beats');
const verdicts = metric('switchyard.approval.wait');
const subAgents = metric('switchyard.subagent.duration');

/** Finish reasons are lower-case words, error codes upper-case words. */
const FAILED = 'outcome=~"[A-Z_]+",outcome!="CANCELLED"';

const alerts: readonly Alert[] = [
  {
    name: 'ProcessGone',
    expr: 'up{job="switchyard"} == 0',
    for: '1m',
    severity: 'critical',
    summary: '{{ $labels.instance }} does not answer',
  },
  ...GATEWAY_DEPENDENCIES.map((service): Alert => ({
    name: 'ServiceGone',
    expr: `absent(${metric('switchyard.service.info')}{service="${service}"})`,
    for: '1m',
    severity: 'critical',
    service,
    summary: `no replica of ${service}: the gateways are not ready`,
  })),
  {
    name: 'NotReady',
    expr: `${metric('switchyard.ready')}{dependency!="all"} == 0`,
    for: '2m',
    severity: 'warning',
    summary: '{{ $labels.instance }} lacks {{ $labels.dependency }}',
  },
  {
    name: 'Defects',
    expr: `sum by (service, method) (rate(${method}_count{code=~"INTERNAL|UNKNOWN|DATA_LOSS"}[5m])) > 0`,
    for: '5m',
    severity: 'critical',
    summary: '{{ $labels.method }} of {{ $labels.service }} fails with errors of ours; the log has the stack',
  },
  {
    name: 'CallsUnanswered',
    expr: `sum(rate(${calls}{code=~"UNAVAILABLE|DEADLINE_EXCEEDED"}[5m])) / sum(rate(${calls}[5m])) > 0.05`,
    for: '5m',
    severity: 'critical',
    summary: '{{ $value | humanizePercentage }} of the calls at the edge are not answered',
  },
  {
    name: 'TurnsFail',
    expr: `sum(rate(${turns}_count{${FAILED}}[10m])) / sum(rate(${turns}_count[10m])) > 0.2`,
    for: '10m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the turns end without an answer',
  },
  {
    name: 'TurnsWait',
    expr: `histogram_quantile(0.95, sum by (le) (rate(${metric('switchyard.turn.wait')}_bucket[10m]))) > 30`,
    for: '10m',
    severity: 'warning',
    summary: 'one turn in twenty waits {{ $value | humanizeDuration }} to begin: more replicas of sessions, or more slots',
  },
  {
    name: 'ApprovalsExpire',
    expr: `sum by (kind) (increase(${verdicts}_count{outcome="expired"}[1h])) / sum by (kind) (increase(${verdicts}_count[1h])) > 0.5`,
    for: '15m',
    severity: 'warning',
    summary: 'nobody answers {{ $value | humanizePercentage }} of the requests of kind {{ $labels.kind }}: switchyard approvals list',
  },
  {
    name: 'SubAgentsFail',
    expr: `sum(rate(${subAgents}_count{outcome!~"completed|killed"}[30m])) / sum(rate(${subAgents}_count[30m])) > 0.5`,
    for: '30m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the sub-agents fail; switchyard runs list has the error of each',
  },
  {
    name: 'SubAgentsRejected',
    expr: `sum by (reason) (rate(${metric('switchyard.subagent.rejected')}[10m])) > 0.1`,
    for: '15m',
    severity: 'warning',
    summary: 'sub-agents are rejected ({{ $labels.reason }}): see security.agentToAgent.subagentContext',
  },
  {
    name: 'GraphsFail',
    expr: `sum(rate(${graphs}_count{outcome="failed"}[30m])) / sum(rate(${graphs}_count[30m])) > 0.5`,
    for: '30m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the graphs fail; graph.status has the error of each node',
  },
  {
    name: 'GraphStepsWait',
    expr: `histogram_quantile(0.95, sum by (le) (rate(${metric('switchyard.graph.step.wait')}_bucket[10m]))) > 60`,
    for: '15m',
    severity: 'warning',
    summary:
      'one step of a graph in twenty waits {{ $value | humanizeDuration }} for a slot: raise security.agentToAgent.graphMaxGlobalSubAgents',
  },
  {
    name: 'ModelFails',
    expr: `sum by (gen_ai_provider_name) (rate(${models}_count{error_type!="",error_type!="CANCELLED"}[5m])) / sum by (gen_ai_provider_name) (rate(${models}_count[5m])) > 0.5`,
    for: '5m',
    severity: 'warning',
    summary: 'most calls to {{ $labels.gen_ai_provider_name }} fail',
  },
  {
    name: 'MediaProviderFails',
    expr: `sum by (kind, provider) (rate(${media}_count{outcome!="answered"}[10m])) / sum by (kind, provider) (rate(${media}_count[10m])) > 0.5`,
    for: '10m',
    severity: 'warning',
    summary: 'most calls of {{ $labels.kind }} to {{ $labels.provider }} fail',
  },
  {
    name: 'DocumentParsersCrash',
    expr: `sum(rate(${metric('switchyard.media.documents')}{outcome="crashed"}[10m])) / sum(rate(${metric('switchyard.media.documents')}[10m])) > 0.2`,
    for: '10m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the documents end their parser; the log of the media service has its last words',
  },
  {
    name: 'BrowsersDoNotStart',
    expr: `sum(rate(${browserStarts}{outcome!="started"}[10m])) / sum(rate(${browserStarts}[10m])) > 0.5`,
    for: '10m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the starts of Chromium fail: run switchyard doctor where the browser service runs',
  },
  {
    name: 'BrowsersCrash',
    expr: `sum(rate(${metric('switchyard.browser.ends')}{reason="crashed"}[10m])) / sum(rate(${browserStarts}{outcome="started"}[10m])) > 0.2`,
    for: '10m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the browsers end unexpectedly: check the memory of the browser service',
  },
  {
    name: 'SkillsNotPublished',
    expr: `sum(rate(${metric('switchyard.skill.offers')}{outcome="failed"}[10m])) > 0`,
    for: '10m',
    severity: 'warning',
    summary: 'changes of skills do not reach the agents: the log of the tools service names the failure of the bus or the database',
  },
  {
    name: 'JobsFail',
    expr: `sum(rate(${runs}{status="error"}[30m])) / sum(rate(${runs}{status!="skipped"}[30m])) > 0.5`,
    for: '30m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the runs of jobs fail: see switchyard cron list',
  },
  {
    name: 'JobsLate',
    expr: `histogram_quantile(0.95, sum by (le) (rate(${metric('switchyard.cron.delay')}_bucket[10m]))) > 60`,
    for: '10m',
    severity: 'warning',
    summary: 'one job in twenty starts {{ $value | humanizeDuration }} late: more replicas of scheduler, or sessions refuses turns',
  },
  {
    name: 'HeartbeatsFail',
    expr: `sum(rate(${beats}{outcome="error"}[30m])) / sum(rate(${beats}{outcome!="skipped"}[30m])) > 0.5`,
    for: '30m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the heartbeats fail: see switchyard heartbeat',
  },
  {
    name: 'OutboxFull',
    expr: `${metric('switchyard.store.outbox')} >= 100`,
    for: '5m',
    severity: 'warning',
    summary: 'events of {{ $labels.service }} are published more slowly than they are written',
  },
  {
    name: 'ObservabilityLags',
    expr: `max(${metric('switchyard.observability.lag')}) > 10000`,
    for: '10m',
    severity: 'warning',
    summary: '{{ $value }} events wait to be ingested; billing and explanations lack them',
  },
  {
    name: 'ObservabilityLostEvents',
    expr: `sum(increase(${metric('switchyard.observability.events')}{outcome="lost"}[1h])) > 0`,
    for: '1m',
    severity: 'critical',
    summary: '{{ $value }} events left the event log before they were ingested; billing lacks them',
  },
  {
    name: 'EventLoopLate',
    expr: `${metric('nodejs.eventloop.delay.p99')} > 0.5`,
    for: '1m',
    severity: 'warning',
    summary: '{{ $labels.instance }} is {{ $value | humanizeDuration }} late in everything it does',
  },
];

export function prometheusAlerts(): string {
  return `# Written by \`make generate\` from the declared metrics; do not edit it.
groups:
  - name: switchyard
    rules:
${alerts.map(alertText).join('')}`;
}

function alertText(alert: Alert): string {
  return `      - alert: Switchyard${alert.name}
        expr: ${quoted(alert.expr)}
        for: ${alert.for}
        labels: { severity: ${alert.severity}${alert.service === undefined ? '' : `, service: ${alert.service}`} }
        annotations: { summary: ${quoted(alert.summary)} }
`;
}

/** YAML takes text in single quotes literally. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
