import { longestAfterEnd } from './check/tokens.ts';
import type { Known } from './check/known.ts';
import { only } from './history.ts';
import { getPoints } from './points.ts';
import { DIES } from './witness/notes.ts';
import { RESET } from './workload/listener.ts';

/** Figures of a run. */
export interface Figures {
  seconds: number;
  /** Faults by kind, and those without a target. */
  faults: Record<string, number>;
  missed: number;
  /** Points at which processes were ordered to die and did. */
  points: ReturnType<typeof getPoints>;
  turns: number;
  attempts: Record<string, number>;
  /** Failed attempts by reason. */
  failures: Record<string, number>;
  done: number;
  /** Turns without an answer, by reason. */
  failed: Record<string, number>;
  /** Turns that another replica continued. */
  takenOver: number;
  reads: number;
  events: number;
  /** Resumed streams, by the events that show it. */
  resumed: number;
  /** Executions of non-repeatable tools, executions of repeatable tools, and repetitions. */
  acts: number;
  looks: number;
  looksAgain: number;
  /** Tenant events received, resets received, and events in the logs. */
  received: number;
  resets: number;
  logged: number;
  tokens: number;
  /** The longest time for which a revoked secret was still accepted. */
  longestAfterEndMs: number;
  /** Time from the first attempt to the first answer of accepted turns: median and 99th percentile. */
  answerMs: { p50: number; p99: number; max: number };
  writes: number;
  recoveryMs?: number;
}

export function getFigures(known: Known): Figures {
  const { all, requests: asked, final, notes, events } = known;
  const turns = only(all, 'turn');
  const faults = only(all, 'fault');
  const heard = turns.flatMap(({ receivedMessages: heard }) => heard);
  const listened = only(all, 'listen').flatMap(({ receivedMessages: heard }) => heard);
  const waits = [...asked.values()].flatMap(({ from, attempts }) => {
    const told = attempts.filter(({ outcome }) => outcome === 'ok').map(({ to }) => to);
    return told.length === 0 ? [] : [Math.min(...told) - from];
  });
  return {
    seconds: Math.round((Math.max(...all.map(({ from }) => from)) - Math.min(...all.map(({ from }) => from))) / 1_000),
    faults: countBy(faults, ({ request: fault }) => ('who' in fault ? `${fault.kind} ${fault.who.replace(/-\d$/, '')}` : fault.kind)),
    missed: faults.filter(({ response: told }) => told?.did.startsWith('nothing') === true).length,
    points: getPoints(known),
    turns: asked.size,
    attempts: countBy(turns, ({ outcome }) => outcome),
    failures: countBy(
      turns.filter(({ outcome }) => outcome !== 'ok'),
      ({ failure }) => (failure === undefined ? 'no end' : `${failure.code} ${failure.reason ?? ''}`.trim()),
    ),
    done: final.turns.filter(({ state }) => state === 'done').length,
    failed: countBy(
      final.turns.filter(({ state }) => state !== 'done'),
      ({ failure = 'nothing' }) => failure,
    ),
    takenOver: final.turns.filter(({ attempts }) => attempts > 1).length,
    reads: only(all, 'read').length,
    events: heard.length,
    resumed: heard.filter(({ event }) => event.name === 'resumed').length,
    ...getTools(known),
    received: listened.filter(({ event }) => event.name !== RESET).length,
    resets: listened.filter(({ event }) => event.name === RESET).length,
    logged: events.length,
    tokens: only(all, 'mint').length,
    longestAfterEndMs: Math.round(longestAfterEnd(known)),
    answerMs: { p50: quantile(waits, 0.5), p99: quantile(waits, 0.99), max: quantile(waits, 1) },
    writes: notes.filter(({ what }) => what !== DIES).length,
  };
}

function getTools({ requests: asked, executions }: Known): Pick<Figures, 'acts' | 'looks' | 'looksAgain'> {
  const uses = [...asked.values()].flatMap(({ attempts }) => attempts[0]?.request.uses ?? []);
  const getKeys = (expected: string): string[] =>
    uses.flatMap(({ tool, name }) => (tool === expected ? (executions.get(name) ?? []).map(({ key }) => key) : []));
  const [acts, looks] = [getKeys('dev_act'), getKeys('dev_look')];
  return { acts: acts.length, looks: looks.length, looksAgain: looks.length - new Set(looks).size };
}

function countBy<T>(items: readonly T[], name: (item: T) => string): Record<string, number> {
  const groups = [...Map.groupBy(items, name)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(groups.map(([one, all]) => [one, all.length]));
}

function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0);
}
