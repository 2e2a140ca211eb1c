import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { metricDefinitions, prometheusName } from '@switchyard/telemetry';
import { checker, checkFile } from './check-metrics.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ALERTS = 'deploy/prometheus/alerts.yml';
const DASHBOARD = 'deploy/grafana/switchyard.json';

/** All series names; a histogram has three. */
const readable = new Set(
  [...metricDefinitions].flatMap(([name, definition]) => {
    const called = prometheusName(name, definition);
    return definition.kind === 'histogram' ? ['', '_bucket', '_sum', '_count'].map((part) => called + part) : [called];
  }),
);

const PREFIXES = [...new Set([...readable].map((name) => name.split('_', 1)[0] ?? ''))];
const NAME = new RegExp(`\\b(?:${PREFIXES.join('|')})_[a-z0-9_]+`, 'g');
/** Labels that look like metric names. */
const labels = new Set([...metricDefinitions.values()].flatMap((one) => one.labels.map((label) => label.replaceAll('.', '_'))));

function namesIn(text: string): string[] {
  return [...new Set(text.match(NAME))].filter((name) => !labels.has(name));
}

const getQueries = (file: string): string =>
  [...readFileSync(root + file, 'utf8').matchAll(/(?:expr: |"expr": )(.+)$/gm)].map(([, expr]) => expr).join('\n');

for (const file of [ALERTS, DASHBOARD]) {
  test(`every metric in ${file} is declared`, () => {
    const named = namesIn(getQueries(file));
    assert.ok(named.length > 5, named.join(' '));
    assert.deepEqual(
      named.filter((name) => !readable.has(name)),
      [],
    );
  });
}

test('the dashboard shows every declared metric', () => {
  const named = new Set(namesIn(getQueries(DASHBOARD)));
  const render = ([name, definition]: (typeof entries)[number]) => {
    const called = prometheusName(name, definition);
    return ['', '_bucket', '_sum', '_count'].some((part) => named.has(called + part));
  };
  const entries = [...metricDefinitions];
  assert.deepEqual(
    entries.filter((entry) => !render(entry)).map(([name]) => name),
    [],
  );
});

test('every metric named in READMEs and the guide exists', () => {
  const pages = globSync('{README.md,{services,libs}/*/README.md,docs/guide/*.md,deploy/*/README.md}', { cwd: root });
  const named = pages.flatMap((page) =>
    [...readFileSync(root + page, 'utf8').matchAll(/`([a-z0-9_]+)(?:\{[^`]*\})?`/g)].flatMap(([, code = '']) =>
      namesIn(code).map((name) => ({ page, name })),
    ),
  );
  assert.ok(named.length > 10);
  assert.deepEqual(
    named.filter(({ name }) => !readable.has(name)),
    [],
  );
});

test('the page of the first five panels names panels of the dashboard', () => {
  const titles = new Set(
    (JSON.parse(readFileSync(root + DASHBOARD, 'utf8')) as { panels: { title: string }[] }).panels.map(({ title }) => title),
  );
  const named = [...readFileSync(`${root}docs/guide/five-panels.md`, 'utf8').matchAll(/^\| \*\*(.+?)\*\*/gm)].map(
    ([, title = '']) => title,
  );
  assert.equal(named.length, 5);
  assert.deepEqual(
    named.filter((title) => !titles.has(title)),
    [],
  );
});

test(`promtool accepts the Prometheus files (${checker})`, async (t) => {
  const matches = [await checkFile('rules', `${root}${ALERTS}`), await checkFile('config', `${root}deploy/prometheus/prometheus.yml`)];
  if (matches.includes(undefined)) t.diagnostic('promtool is not here and cannot be installed: the rules were not parsed');
  assert.deepEqual(matches.filter(Boolean), []);
});
