import type { ChartTools } from '../tools.ts';

/** The input of every check of the charts. */
export interface CheckContext {
  tools: ChartTools;
  /** The rendering of the umbrella chart by the set of values. */
  rendered: ReadonlyMap<string, string>;
}

/** A check of the charts. */
export interface ChartCheck {
  name: string;
  /** Returns a sentence for each failure. */
  run(context: CheckContext): Promise<string[]>;
  /** Why the check cannot run, or undefined. */
  findObstacle?(tools: ChartTools): string | undefined;
}
