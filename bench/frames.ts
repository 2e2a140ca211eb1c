import type { HeapProfiler, Profiler, Runtime } from 'node:inspector';
import { place } from './profile.ts';

/** Microseconds, or bytes, by the frame they are counted for. */
export type Frames = Map<string, number>;

const OURS = /^(?:libs|services)\//;
const IDLE = '(idle)';

interface Named {
  name: string;
  ours: boolean;
}

function named({ functionName, url, lineNumber }: Runtime.CallFrame): Named {
  const where = place(url, lineNumber);
  return { name: `${functionName || '(anonymous)'}  ${where}`, ours: OURS.test(where) };
}

/**
 * Time by our outermost function: what an event, or a step of an async function, set off. Where none of ours is on the stack it is
 * counted for the function itself, in Node or in a package.
 */
export function timeByOutermost({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Frames {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const byId = new Map(nodes.map((node) => [node.id, named(node.callFrame)]));
  const frames: Frames = new Map();
  const outermost = (id: number): string | undefined => {
    let found = byId.get(id)?.name;
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = byId.get(at);
      if (frame?.ours) found = frame.name;
    }
    return found;
  };
  for (const [index, id] of samples.entries()) {
    const name = outermost(id);
    // A sample stands for the time until the next one.
    if (name !== undefined && !name.startsWith(IDLE)) frames.set(name, (frames.get(name) ?? 0) + (timeDeltas[index + 1] ?? 0));
  }
  return frames;
}

/** Bytes by our innermost function: the one that could allocate less. */
export function bytesByInnermost({ head }: HeapProfiler.SamplingHeapProfile): Frames {
  const frames: Frames = new Map();
  const walk = ({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode, above: string | undefined): void => {
    const own = named(callFrame);
    const name = own.ours ? own.name : above;
    if (selfSize > 0) frames.set(name ?? own.name, (frames.get(name ?? own.name) ?? 0) + selfSize);
    for (const child of children) walk(child, name);
  };
  walk(head, undefined);
  return frames;
}

/** What was counted while so much was done. */
export interface Phase {
  name: string;
  frames: Frames;
  turns: number;
}

/** A column for each phase, all of one turn; heaviest first in the last phase. */
export function framesText(title: string, phases: readonly Phase[], top: number): string {
  const names = [...new Set(phases.flatMap(({ frames }) => [...frames.keys()]))];
  const perTurn = names.map((name) => ({ name, values: phases.map(({ frames, turns }) => (frames.get(name) ?? 0) / turns) }));
  perTurn.sort((a, b) => (b.values.at(-1) ?? 0) - (a.values.at(-1) ?? 0));
  const totals = phases.map((_, at) => perTurn.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const line = (cells: readonly string[], name: string): string => `${cells.map((cell) => cell.padStart(10)).join(' ')}  ${name}`;
  const numbers = (values: readonly number[]): string[] => values.map((value) => value.toFixed(1));
  return [
    `\n${title}`,
    line(
      phases.map(({ name }) => name),
      '',
    ),
    line(numbers(totals), 'all'),
    ...perTurn.slice(0, top).map(({ name, values }) => line(numbers(values), name)),
  ].join('\n');
}
