import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments, stringify } from 'yaml';

/** The folder of the charts. */
export const CHARTS = fileURLToPath(new URL('../../deploy/helm', import.meta.url));
export const UMBRELLA = 'switchyard';
/** The set of values whose golden is whole. The others have the differences to it. */
export const DEFAULT_SET = 'default';
/** Values, goldens, refusals and suites of the charts. */
export const TESTS = join(CHARTS, 'tests');

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

/** The charts that a release can consist of: the platform and each service, by their names in the values of the umbrella. */
export function partCharts(): { alias: string; chart: string }[] {
  const { dependencies } = parse(readFileSync(join(CHARTS, UMBRELLA, 'Chart.yaml'), 'utf8')) as {
    dependencies: { name: string; alias: string }[];
  };
  return dependencies.map(({ name, alias }) => ({ alias, chart: name }));
}

/** Values of the umbrella: those of all charts, and those of each chart by its name in the umbrella. */
export interface UmbrellaValues {
  global: Record<string, unknown> & { services?: Record<string, boolean> };
  [alias: string]: Record<string, unknown>;
}

export function readValues(set: string): UmbrellaValues {
  return parse(readFileSync(join(TESTS, 'values', `${set}.yaml`), 'utf8')) as UmbrellaValues;
}

/** Returns the values of a release of one chart, or undefined if the umbrella leaves the chart out. */
export function selectPart({ global, ...parts }: UmbrellaValues, alias: string): object | undefined {
  const part = parts[alias] ?? {};
  // The first of the conditions that has a value decides, as in Helm.
  const enabled = part['enabled'] ?? global.services?.[alias] ?? true;
  return enabled === true ? { ...part, global } : undefined;
}

export function goldenPath(set: string): string {
  return join(TESTS, 'goldens', `${set}.yaml`);
}

export function readRefusals(): Refusal[] {
  return parse(readFileSync(join(TESTS, 'refusals.yaml'), 'utf8')) as Refusal[];
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
  const known = describeObjects(base);
  const present = describeObjects(objects);
  const different = [...present].filter(([id, own]) => known.get(id) !== own);
  const missing = [...known.keys()].filter((id) => !present.has(id)).sort();
  const documents = different.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, own]) => own);
  return [...missing.map((id) => `# not rendered: ${id}\n`), documents.join('---\n')].join('');
}

/** The text of each object in a golden, by its name and kind. */
export function describeObjects(objects: readonly KubernetesObject[]): Map<string, string> {
  return new Map(objects.map((object) => [`${object.metadata.name} ${object.kind}`, text(object)]));
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
