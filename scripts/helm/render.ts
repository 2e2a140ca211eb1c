import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments, stringify } from 'yaml';

/** The folder of the charts. */
export const CHARTS = fileURLToPath(new URL('../../deploy/helm', import.meta.url));
export const UMBRELLA = 'switchyard';
/** The set of values whose golden is whole. The others have the differences to it. */
export const DEFAULT_SET = 'default';
const TESTS = join(CHARTS, 'tests');
const KUBERNETES = '1.37.0';

export type KubernetesObject = {
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
} & Record<string, unknown>;

/** Values that a chart refuses, and a part of the message. */
export interface Refusal {
  chart: string;
  values: object;
  message: string;
}

/** The names of the sets of values in deploy/helm/tests/values. */
export function valueSets(): string[] {
  return readdirSync(join(TESTS, 'values'))
    .map((file) => basename(file, '.yaml'))
    .sort();
}

export function valuesPath(set: string): string {
  return join(TESTS, 'values', `${set}.yaml`);
}

export function goldenPath(set: string): string {
  return join(TESTS, 'goldens', `${set}.yaml`);
}

export function readRefusals(): Refusal[] {
  return parse(readFileSync(join(TESTS, 'refusals.yaml'), 'utf8')) as Refusal[];
}

/** Renders a chart without a cluster. Throws the message of Helm. */
export function template(helm: string, chart: string, args: readonly string[], input = ''): string {
  const command = ['template', 'switchyard', join(CHARTS, chart), '--kube-version', KUBERNETES, ...args];
  return execFileSync(helm, command, { encoding: 'utf8', input, stdio: ['pipe', 'pipe', 'pipe'], maxBuffer: 64 * 2 ** 20 });
}

/** Kubernetes reads YAML 1.1, in which 0440 is an octal number. */
export function parseObjects(rendered: string): KubernetesObject[] {
  return parseAllDocuments(rendered, { version: '1.1' }).flatMap((document) =>
    document.contents === null ? [] : [document.toJS() as KubernetesObject],
  );
}

/**
 * The golden of a rendering: the objects that differ from those of `base`, and the names of those that are missing. Generated files and
 * their checksums are left out, because they change with the contracts.
 */
export function golden(objects: readonly KubernetesObject[], base: readonly KubernetesObject[] = []): string {
  const known = new Map(base.map((object) => [getId(object), text(object)]));
  const different = objects.map((object) => [getId(object), text(object)] as const).filter(([id, own]) => known.get(id) !== own);
  const present = new Set(objects.map(getId));
  const missing = [...known.keys()].filter((id) => !present.has(id)).sort();
  const documents = different.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, own]) => own);
  return [...missing.map((id) => `# not rendered: ${id}\n`), documents.join('---\n')].join('');
}

function getId({ kind, metadata }: KubernetesObject): string {
  return `${metadata.name} ${kind}`;
}

function text(object: KubernetesObject): string {
  return stringify(JSON.parse(JSON.stringify(object, omit)), { lineWidth: 0 });
}

const LONG_TEXT = 1_000;

function omit(key: string, value: unknown): unknown {
  if (key.startsWith('checksum/')) return '(checksum)';
  if (key === 'groups' || (typeof value === 'string' && value.length > LONG_TEXT)) return '(generated)';
  return value;
}
