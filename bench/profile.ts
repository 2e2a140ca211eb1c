import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LoadResult } from './load-plan.ts';
import { root } from './subject.ts';

/** The fields of a `--cpu-prof` file that are read here. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  startTime: number;
  samples: number[];
  timeDeltas: number[];
}

export interface HotSpot {
  name: string;
  where: string;
  /** Microseconds of one request. */
  selfUs: number;
  /** Share of the time in which the process was not idle. */
  share: number;
}

const IDLE = '(idle)';

/** Lists the functions of a profile by self time within the measured window, heaviest first. */
export function hotSpots(file: string, { from, to, requests }: Pick<LoadResult, 'from' | 'to' | 'requests'>): HotSpot[] {
  const { nodes, startTime, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const self = new Map<string, { name: string; where: string; us: number }>();
  let at = startTime;
  let busy = 0;
  for (const [index, id] of samples.entries()) {
    at += timeDeltas[index] ?? 0;
    const frame = frames.get(id);
    if (at < from || at > to || frame === undefined || frame.functionName === IDLE) continue;
    // A sample covers the time until the next sample.
    const us = timeDeltas[index + 1] ?? 0;
    busy += us;
    const location = formatPosition(frame.url, frame.lineNumber);
    const key = `${frame.functionName} ${location}`;
    const known = self.get(key);
    if (known === undefined) self.set(key, { name: frame.functionName || '(anonymous)', where: location, us });
    else known.us += us;
  }
  return [...self.values()]
    .sort((a, b) => b.us - a.us)
    .map(({ name, where, us }) => ({ name, where, selfUs: us / requests, share: us / busy }));
}

/** Formats a source position: a file of this repository, of a package or of Node. */
export function formatPosition(url: string, line: number): string {
  if (url === '') return 'native';
  return `${url.startsWith('file:') ? relative(root, fileURLToPath(url)) : url}:${line + 1}`;
}

/** Returns the owner of the code: a package of this repository, a dependency, or Node. */
function classifyOwner(where: string): string {
  const dependency = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(where)?.[1];
  if (dependency !== undefined) return dependency;
  if (where.startsWith('node:')) return 'node';
  return /^(?:libs|services)\/[^/]+/.exec(where)?.[0] ?? where;
}

function areasText(spots: readonly HotSpot[]): string {
  const areas = new Map<string, number>();
  for (const { where, selfUs } of spots) areas.set(classifyOwner(where), (areas.get(classifyOwner(where)) ?? 0) + selfUs);
  const heaviest = [...areas].sort((a, b) => b[1] - a[1]).slice(0, 12);
  return heaviest.map(([area, us]) => `${area} ${us.toFixed(1)}`).join(' · ');
}

/** Formats the areas, then the hottest functions of all code, then those of this repository. */
export function hotSpotText(title: string, spots: readonly HotSpot[], top: number): string {
  const total = spots.reduce((sum, { selfUs }) => sum + selfUs, 0);
  const own = spots.filter(({ where }) => /^(?:libs|services)\//.test(where));
  return [
    `\n${title}: ${total.toFixed(1)} µs a request`,
    areasText(spots),
    ...spots.slice(0, top).map(spotText),
    '  of our own:',
    ...own.slice(0, top).map(spotText),
  ].join('\n');
}

function spotText({ name, where, selfUs, share }: HotSpot): string {
  return `${selfUs.toFixed(2).padStart(8)} µs ${(share * 100).toFixed(1).padStart(5)} %  ${name}  ${where}`;
}
