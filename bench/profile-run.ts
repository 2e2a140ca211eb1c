import { join } from 'node:path';
import { tempDir } from '@switchyard/testkit';
import type { LoadResult } from './load-plan.ts';
import { startLoad } from './load-process.ts';
import { WARM_REQUESTS } from './measure.ts';
import type { Options } from './options.ts';
import { startBroker, startCluster, startEmbedded } from './product.ts';
import { hotSpots, hotSpotText } from './profile.ts';
import { cases, rows, type CaseName } from './rows.ts';
import { buildRoute, startUpstream, type Subject } from './subject.ts';
import { profileTurns } from './turns/profile-turns.ts';

const CONNECTIONS = 32;
const WARM_MS = 2_000;
const TOP = 20;

/** The processes that take part in a case. */
const WORKING: Readonly<Record<CaseName, readonly string[]>> = {
  call: ['gateway', 'registry', 'embedded'],
  'ws-call': ['gateway', 'registry', 'embedded'],
  'edge-answer': ['gateway'],
  'ws-edge-answer': ['gateway'],
  completion: ['gateway', 'sessions', 'embedded'],
  'completion-stream': ['gateway', 'sessions', 'embedded'],
};

interface Measured {
  of: CaseName;
  subject: Subject;
  result: LoadResult;
}

/** Loads the product alone and prints its hot functions. Profiling slows it down, so these runs give no ratios. */
export async function printProfiles(options: Options, onProgress: (description: string) => void): Promise<void> {
  await using directory = await tempDir();
  for (const row of [17, 18] as const) if (options.rows.has(row)) console.log(await profileTurns(row, options.seconds, onProgress));
  const measured = await loadOurs(directory.path, options, onProgress);
  for (const { of, subject, result } of measured) {
    for (const process of WORKING[of]) {
      if ((process === 'embedded') !== (subject.name === 'embedded')) continue;
      const spots = hotSpots(join(directory.path, `${process}.cpuprofile`), result);
      console.log(hotSpotText(`${cases[of].what}, c=${CONNECTIONS}, ${subject.name}: the ${process} process`, spots, TOP));
    }
  }
}

/** Loads the product. Its processes write their profiles when they exit, before this function returns. */
async function loadOurs(profiles: string, options: Options, onProgress: (what: string) => void): Promise<Measured[]> {
  await using stack = new AsyncDisposableStack();
  const caseNames = new Set(rows.filter(({ row }) => options.rows.has(row)).map((row) => row.of));
  if (caseNames.size === 0) return [];
  const broker = await startBroker(stack);
  const upstream = [...caseNames].some((of) => cases[of].completion) ? await startUpstream(stack) : undefined;
  const given = { profiles, upstream };
  const subjects = [await startCluster(broker, stack, given), await startEmbedded(stack, given)];
  using load = await startLoad();
  const measured: Measured[] = [];
  for (const of of caseNames) {
    for (const subject of subjects) {
      onProgress(`profiling ${cases[of].what}: ${subject.name}`);
      const plan = {
        ...buildRoute(subject, cases[of]),
        connections: CONNECTIONS,
        warmMs: WARM_MS,
        warmRequests: WARM_REQUESTS,
        pids: subject.pids,
      };
      measured.push({ of, subject, result: await load.measure({ ...plan, ms: options.seconds * 1_000 }) });
    }
  }
  return measured;
}
