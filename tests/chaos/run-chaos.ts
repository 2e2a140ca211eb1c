import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from './check/check.ts';
import { know, type Evidence, type Violation } from './check/known.ts';
import { startChaosCluster, type ChaosCluster } from './cluster.ts';
import { watchEvents, type LoggedEvent } from './event-log.ts';
import { createInjector } from './faults.ts';
import { readFinal } from './final-state.ts';
import { openHistory, operations, readLines, type Entry } from './history.ts';
import type { Planned } from './plan.ts';
import { getFigures, type Figures } from './figures.ts';
import { unreached } from './points.ts';
import type { Note } from './witness/notes.ts';
import { askAgain, getPrefix, startWorkload } from './workload/workload.ts';

/** Time limit to finish all work after the faults; the promise is one minute. */
const PATIENCE_MS = 60_000;
/** Time limit to read an existing answer. */
const A_TURN_MS = 20;
const EVENTS = 'events.jsonl';
const TENANT = 'default';

export interface Run {
  seed: number;
  plan: readonly Planned[];
  talkers: number;
  /** Prints the progress. */
  say: (line: string) => void;
  /** How long to wait for unfinished work and missing answers. */
  patienceMs?: number;
}

export interface Outcome {
  violations: Violation[];
  /** Points at which no ordered death happened; the run does not cover them. */
  unreached: string[];
  figures: Figures;
}

/** Runs a cluster with faults and checks it. The recording stays in the directory. */
export async function runChaos(dir: string, run: Run): Promise<Outcome> {
  await using stack = new AsyncDisposableStack();
  run.say('starts the cluster');
  const cluster = await startChaosCluster(dir, stack);
  return await hurt(cluster, dir, run);
}

/** Runs clients and faults on a running cluster, ends the faults, and reads the final state. */
export async function hurt(
  cluster: ChaosCluster,
  dir: string,
  { seed, plan, talkers, say, patienceMs = PATIENCE_MS }: Run,
): Promise<Outcome> {
  using history = openHistory(join(dir, 'history.jsonl'));
  await using watch = await watchEvents(cluster.bus, join(dir, EVENTS));
  const workload = startWorkload(cluster, history, { seed, talkers });
  const injector = createInjector({ cluster, history, seek: workload.seek });
  say(`${plan.length} faults of seed ${seed}`);
  await injector.play(plan, new AbortController().signal);
  say('heals');
  await injector.heal();
  const healed = performance.now();
  await cluster.ready(AbortSignal.timeout(patienceMs * 2));
  await workload.finish(patienceMs);
  const reading = { url: cluster.store, prefix: getPrefix(seed), patienceMs };
  let final = await readFinal(reading);
  const recoveryMs = performance.now() - healed;
  if (final.left.length === 0) {
    say('asks for everything once more');
    const done = operations(readLines<Entry>(join(dir, 'history.jsonl')));
    await askAgain(cluster, history, done, patienceMs + done.length * A_TURN_MS);
    final = await readFinal(reading);
  }
  await watch.upToNow();
  await workload.silence(lastEvent(dir), patienceMs);
  writeFileSync(join(dir, 'final.json'), `${JSON.stringify(final)}\n`);
  say('looks through it');
  return judge(dir, cluster.witness, recoveryMs);
}

/** Checks the recording in a directory. */
export function judge(dir: string, witness = join(dir, 'witness'), recoveryMs?: number): Outcome {
  const evidence = readEvidence(dir, witness);
  const known = know(evidence);
  const figures = { ...getFigures(known), ...(recoveryMs === undefined ? {} : { recoveryMs: Math.round(recoveryMs) }) };
  const outcome = { violations: check(evidence), unreached: unreached(known), figures };
  writeFileSync(join(dir, 'verdict.json'), `${JSON.stringify(outcome, undefined, 2)}\n`);
  return outcome;
}

/** The last event of this tenant. */
function lastEvent(dir: string): string | undefined {
  const last = readLines<LoggedEvent>(join(dir, EVENTS)).findLast(({ tenant }) => tenant === TENANT);
  return last && `${last.log}-${last.seq}`;
}

/** Drops records from before the run. */
function readEvidence(dir: string, witness: string): Evidence {
  const history = readLines<Entry>(join(dir, 'history.jsonl'));
  const began = history[0]?.at ?? 0;
  const files = readdirSync(witness).filter((name) => name.endsWith('.jsonl'));
  return {
    history,
    notes: files.flatMap((name) => readLines<Note>(join(witness, name))).filter(({ from }) => from >= began),
    events: readLines<LoggedEvent>(join(dir, EVENTS)),
    final: readLines<Evidence['final']>(join(dir, 'final.json'))[0]!,
  };
}

/** An empty directory for a run. */
export function freshDirectory(dir: string): string {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return dir;
}
