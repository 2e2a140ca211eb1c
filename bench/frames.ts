import type { HeapProfiler, Profiler, Runtime } from 'node:inspector';
import { formatPosition } from './profile.ts';

/** Microseconds or bytes for each stack frame. */
export type Frames = Map<string, number>;

const OURS = /^(?:libs|services)\//;
const IDLE = '(idle)';

interface NamedFrame {
  name: string;
  ours: boolean;
}

function describeFrame({ functionName, url, lineNumber }: Runtime.CallFrame): NamedFrame {
  const location = formatPosition(url, lineNumber);
  return { name: `${functionName || '(anonymous)'}  ${location}`, ours: OURS.test(location) };
}

/**
 * Sums time by the outermost function of this repository on the stack: the handler of an event or a step of an async function. A stack
 * without such a function counts for its top frame, in Node or in a package.
 */
export function timeByOutermost({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Frames {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const byId = new Map(nodes.map((node) => [node.id, describeFrame(node.callFrame)]));
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
    // A sample covers the time until the next sample.
    if (name !== undefined && !name.startsWith(IDLE)) frames.set(name, (frames.get(name) ?? 0) + (timeDeltas[index + 1] ?? 0));
  }
  return frames;
}

/** Sums allocated bytes by the innermost function of this repository on the stack, which is the one that could allocate less. */
export function bytesByInnermost({ head }: HeapProfiler.SamplingHeapProfile): Frames {
  const frames: Frames = new Map();
  const walk = ({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode, above: string | undefined): void => {
    const own = describeFrame(callFrame);
    const name = own.ours ? own.name : above;
    if (selfSize > 0) frames.set(name ?? own.name, (frames.get(name ?? own.name) ?? 0) + selfSize);
    for (const child of children) walk(child, name);
  };
  walk(head, undefined);
  return frames;
}

/** The frames of a measured phase, and the number of turns in it. */
export interface Phase {
  name: string;
  frames: Frames;
  turns: number;
}

/** Formats a table with one column per phase, per turn, sorted by the last phase. */
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
