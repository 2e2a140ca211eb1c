import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readMessages, run } from '../helm.ts';
import { TESTS } from '../render.ts';
import { KUBERNETES_VERSIONS } from '../tools.ts';
import { writeRenderings } from '../renderings.ts';
import type { ChartCheck } from './context.ts';

/** Grades of kube-score: 1 critical, 5 warning, 7 almost, 10 sound. */
const SOUND = 7;
/** Objects without a waiver of their own share those of `*`. */
const ANY = '*';

interface ScoredObject {
  type_meta: { kind: string };
  object_meta: { name: string };
  checks: { check: { id: string }; grade: number; skipped: boolean; comments: { path: string; summary: string }[] | null }[];
}

/** A reason by the id of the check, by the kind and the name of the object. */
type Waivers = Record<string, Record<string, string>>;

/** kube-score finds nothing but what score-waivers.yaml gives a reason for. A waiver that is not needed is a failure too. */
export const scoreObjects: ChartCheck = {
  name: 'kube-score',
  findObstacle: ({ kubeScore }) => (kubeScore === undefined ? 'kube-score' : undefined),
  async run({ tools, rendered }) {
    const waivers = parse(readFileSync(join(TESTS, 'score-waivers.yaml'), 'utf8')) as Waivers;
    const unused = new Set(Object.entries(waivers).flatMap(([id, objects]) => Object.keys(objects).map((name) => `${id} ${name}`)));
    const failures = new Set<string>();
    using files = writeRenderings(rendered);
    for (const [index, set] of [...rendered.keys()].entries()) {
      for (const { id, object, summary } of await score(tools.kubeScore ?? '', files.files[index] ?? '')) {
        const name = [object, ANY].find((one) => waivers[id]?.[one] !== undefined);
        if (name === undefined) failures.add(`${set}: ${object}: ${id}: ${summary}`);
        else unused.delete(`${id} ${name}`);
      }
    }
    return [...failures, ...[...unused].map((waiver) => `score-waivers.yaml: nothing needs the waiver ${waiver}`)];
  },
};

async function score(program: string, file: string): Promise<{ id: string; object: string; summary: string }[]> {
  const version = `v${(KUBERNETES_VERSIONS.at(-1) ?? '').replace(/\.\d+$/, '')}`;
  const scored = JSON.parse(
    await run(program, ['score', '--output-format', 'json', '--kubernetes-version', version, file]).catch(readOutput),
  ) as ScoredObject[];
  return scored.flatMap(({ type_meta: { kind }, object_meta: { name }, checks }) =>
    checks
      .filter(({ grade, skipped }) => !skipped && grade < SOUND)
      .map(({ check, comments }) => ({ id: check.id, object: `${kind} ${name}`, summary: comments?.[0]?.summary ?? '' })),
  );
}

/** kube-score ends with an error if it found something, and its findings are the output. */
function readOutput(error: unknown): string {
  const { stdout } = error as { stdout?: string };
  if (stdout === undefined || !stdout.startsWith('[')) throw new Error(readMessages(error));
  return stdout;
}
