import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricDefinitions, type MetricName } from './catalogue.ts';
import { prometheusName } from './metric-definition.ts';
import { exposition } from './prometheus-exposition.ts';
import { collect, counter, histogram, MAX_SERIES, observe } from './instruments.ts';

/** The exposition lines of one metric. */
function getLines(name: MetricName): string[] {
  const families = collect().filter((family) => family.name === name);
  return exposition(families).split('\n').slice(0, -1);
}

test('counter returns the same series for the same labels', () => {
  counter('switchyard.model.cost', { 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'a' }).add(0.5);
  counter('switchyard.model.cost', { 'gen_ai.request.model': 'a', 'gen_ai.provider.name': 'openai' }).add();
  counter('switchyard.model.cost', { 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': '"\\\n' }).add();
  assert.deepEqual(getLines('switchyard.model.cost'), [
    '# HELP switchyard_model_cost_usd_total Cost of model calls by catalogue prices.',
    '# TYPE switchyard_model_cost_usd_total counter',
    'switchyard_model_cost_usd_total{gen_ai_provider_name="openai",gen_ai_request_model="a"} 1.5',
    'switchyard_model_cost_usd_total{gen_ai_provider_name="openai",gen_ai_request_model="\\"\\\\\\n"} 1',
  ]);
});

test('a histogram bucket counts values up to its bound', () => {
  const waits = histogram('switchyard.turn.wait', {});
  for (const seconds of [0, 0.005, 0.006, 7, 10_000]) waits.record(seconds);
  const lines = getLines('switchyard.turn.wait');
  for (const line of [
    'bucket{le="0.005"} 2',
    'bucket{le="0.01"} 3',
    'bucket{le="10"} 4',
    'bucket{le="600"} 4',
    'bucket{le="+Inf"} 5',
    'sum 10007.011',
    'count 5',
  ])
    assert.ok(lines.includes(`switchyard_turn_wait_seconds_${line}`), `${line}\n${lines.join('\n')}`);
});

test('observe reads and sums values on collect until it is unsubscribed', () => {
  let size = 3;
  const ends = [
    observe('switchyard.bus.pending', { service: 'a' }, () => size),
    observe('switchyard.bus.pending', { service: 'a' }, () => 4),
  ];
  const value = (): string | undefined => getLines('switchyard.bus.pending').at(-1);
  assert.equal(value(), 'switchyard_bus_pending{service="a"} 7');
  size = 10;
  assert.equal(value(), 'switchyard_bus_pending{service="a"} 14');
  ends[0]?.();
  assert.equal(value(), 'switchyard_bus_pending{service="a"} 4');
  const unknown = observe('switchyard.bus.pending', { service: 'a' }, () => Number.NaN);
  assert.equal(value(), 'switchyard_bus_pending{service="a"} 4', 'a number that is none is left out');
  for (const end of [...ends, unknown]) end();
  assert.deepEqual(getLines('switchyard.bus.pending'), []);
});

test('counts series above the limit as other', () => {
  for (let n = 0; n < MAX_SERIES + 500; n++) counter('switchyard.edge.calls', { method: `made.up_${n}`, code: 'OK' }).add();
  const lines = getLines('switchyard.edge.calls').filter((line) => !line.startsWith('#'));
  assert.equal(lines.length, MAX_SERIES + 1);
  assert.equal(lines.at(-1), 'switchyard_edge_calls_total{method="other",code="other"} 500');
  counter('switchyard.edge.calls', { method: 'made.up_3', code: 'OK' }).add();
  assert.ok(
    getLines('switchyard.edge.calls').includes('switchyard_edge_calls_total{method="made.up_3",code="OK"} 2'),
    'who came early stays',
  );
});

test('each metric definition is valid for Prometheus and OTLP', () => {
  const names = new Set<string>();
  for (const [name, definition] of metricDefinitions) {
    const called = prometheusName(name, definition);
    assert.match(called, /^[a-z][a-z0-9_]*$/);
    assert.match(definition.help, /^[A-Z].*\.$/, `${name}: a sentence`);
    assert.doesNotMatch(definition.help, /[\n\\]/);
    assert.ok(!names.has(called), `${called} is declared twice`);
    names.add(called);
    const { bounds = [], kind, labels } = definition;
    assert.equal(kind === 'histogram', bounds.length > 0, name);
    assert.deepEqual(
      bounds,
      [...bounds].toSorted((a, b) => a - b),
    );
    for (const label of labels) assert.match(label, /^[a-z][a-z0-9_.]*$/);
    // Ids and texts of clients would create a series for each value.
    assert.deepEqual(
      labels.filter((label) => /(^|[._])(id|session|user|client|tenant|message|token|key)$/.test(label)),
      [],
      name,
    );
  }
});
