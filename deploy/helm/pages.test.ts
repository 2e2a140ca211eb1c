import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${ROOT}/${path}`, 'utf8');

test('every alert has a section of the runbook, and every section an alert', () => {
  const alerts = new Set([...read('deploy/prometheus/alerts.yml').matchAll(/alert: (\w+)/g)].map(([, name = '']) => name));
  const sections = [...read('docs/guide/kubernetes/runbook.md').matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name);
  assert.deepEqual(new Set(sections), alerts);
});

test('the pages name values that exist', () => {
  const values = read('deploy/helm/switchyard/values.yaml') + read('deploy/helm/switchyard-sessions/values.yaml');
  for (const page of ['install', 'scale', 'secrets', 'upgrade', 'backup', 'regions']) {
    assert.ok(existsSync(`${ROOT}/docs/guide/kubernetes/${page}.md`), page);
    const named = [...read(`docs/guide/kubernetes/${page}.md`).matchAll(/`global\.(\w+)\.(\w+)/g)];
    for (const [name, section, key] of named)
      assert.match(values, new RegExp(`^  ${section}:\\n(?:    .*\\n)*?    ${key}:`, 'm'), `${page}: ${name}`);
  }
});
