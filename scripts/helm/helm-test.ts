import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { stringify } from 'yaml';
import { installTools } from './tools.ts';
import {
  CHARTS,
  DEFAULT_SET,
  golden,
  goldenPath,
  parseObjects,
  readRefusals,
  template,
  UMBRELLA,
  valueSets,
  valuesPath,
} from './render.ts';

// Tests the charts with Helm, without a cluster: node scripts/helm/helm-test.ts [--write]. With --write the goldens are replaced.

const write = process.argv.includes('--write');
const { helm, kubeconform, schemas } = installTools((text) => process.stderr.write(`${text}\n`));
const failures: string[] = [];

execFileSync(helm, ['lint', `${CHARTS}/${UMBRELLA}`, '--quiet', '--set', 'global.keys.existing=true'], {
  stdio: ['ignore', 'inherit', 'pipe'],
});

const byDefault = parseObjects(template(helm, UMBRELLA, ['--values', valuesPath(DEFAULT_SET)]));
for (const set of valueSets()) {
  const args = ['--values', valuesPath(set)];
  const rendered = template(helm, UMBRELLA, args);
  if (template(helm, UMBRELLA, args) !== rendered) failures.push(`${set}: two renderings differ`);
  compareGolden(set, golden(parseObjects(rendered), set === DEFAULT_SET ? [] : byDefault));
  if (kubeconform !== undefined && schemas !== undefined) validate(set, rendered, { kubeconform, schemas });
  process.stderr.write(`rendered ${set}\n`);
}

for (const { chart, values, message } of readRefusals()) {
  try {
    template(helm, chart, ['--values', '-'], stringify(values));
    failures.push(`not refused: ${JSON.stringify(values)}`);
  } catch (error) {
    const { stderr } = error as { stderr: string };
    if (!stderr.includes(message))
      failures.push(`${JSON.stringify(values)}: expected the message ${JSON.stringify(message)}, got ${stderr}`);
  }
}

for (const failure of failures) console.error(failure);
console.log(`${valueSets().length} sets of values, ${readRefusals().length} refusals, ${failures.length} failures`);
if (kubeconform === undefined) console.log('Not run: schemas of Kubernetes (kubeconform is not installed).');
process.exitCode = failures.length === 0 ? 0 : 1;

function compareGolden(set: string, text: string): void {
  const file = goldenPath(set);
  if (write) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    failures.push(`${set}: the golden is out of date. Compare and update it: node scripts/helm/helm-test.ts --write`);
  }
}

function validate(set: string, rendered: string, tools: { kubeconform: string; schemas: string }): void {
  const schemaLocation = `${tools.schemas}/{{.NormalizedKubernetesVersion}}-local{{.StrictSuffix}}/{{.ResourceKind}}{{.KindSuffix}}.json`;
  const skipped = 'PodMonitor,PrometheusRule,HTTPRoute,ScaledObject';
  for (const version of ['1.30.0', '1.37.0']) {
    try {
      execFileSync(
        tools.kubeconform,
        ['-strict', '-kubernetes-version', version, '-skip', skipped, '-schema-location', schemaLocation, '-'],
        { input: rendered, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] },
      );
    } catch (error) {
      failures.push(`${set}, Kubernetes ${version}: ${(error as { stdout: string }).stdout}`);
    }
  }
}
