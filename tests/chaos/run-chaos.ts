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
import { figuresOf, type Figures } from './figures.ts';
import { unreached } from './points.ts';
import type { Note } from './witness/notes.ts';
import { askAgain, prefixOf, startWorkload } from './workload/workload.ts';

/** After everything is healed, so long may it take until all is done: what was promised is a minute. */
const PATIENCE_MS = 60_000;
/** Asking for one that has an answer takes less than this. */
const A_TURN_MS = 20;
const EVENTS = 'events.jsonl';
const TENANT = 'default';

export interface Run {
  seed: number;
  plan: readonly Planned[];
  talkers: number;
  /** Tells a person how far it is. */
  say: (line: string) => void;
  /** How long is waited for what was left, and for what was not answered. */
  patienceMs?: number;
}

export interface Outcome {
  violations: Violation[];
  /** Points at which nobody died who was told to: of them the run says nothing. */
  unreached: string[];
  figures: Figures;
}

/** One run from start to verdict. Everything it saw stays in the directory. */
export async function runChaos(dir: string, run: Run): Promise<Outcome> {
  await using stack = new AsyncDisposableStack();
  run.say('starts the cluster');
  const cluster = await startChaosCluster(dir, stack);
  return await hurt(cluster, dir, run);
}

/** A story on a cluster that is there: clients at work, faults, healing, and what is left. */
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
  const reading = { url: cluster.store, prefix: prefixOf(seed), patienceMs };
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

/** The verdict on what a run left in its directory. */
export function judge(dir: string, witness = join(dir, 'witness'), recoveryMs?: number): Outcome {
  const evidence = readEvidence(dir, witness);
  const known = know(evidence);
  const figures = { ...figuresOf(known), ...(recoveryMs === undefined ? {} : { recoveryMs: Math.round(recoveryMs) }) };
  const outcome = { violations: check(evidence), unreached: unreached(known), figures };
  writeFileSync(join(dir, 'verdict.json'), `${JSON.stringify(outcome, undefined, 2)}\n`);
  return outcome;
}

/** The last one that the clients of this tenant may hear. */
function lastEvent(dir: string): string | undefined {
  const last = readLines<LoggedEvent>(join(dir, EVENTS)).findLast(({ tenant }) => tenant === TENANT);
  return last && `${last.log}-${last.seq}`;
}

/** What was written down before the run began is of another one. */
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
