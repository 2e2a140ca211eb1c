import type { ModelRef } from '@switchyard/models';
import type { Effect, Preferences } from '../model/session-document.ts';
import type { RunDeps, RunGiven } from '../turns/execution/turn-run.ts';

/** A command as it is carried out. */
export interface Asked {
  deps: RunDeps;
  given: RunGiven;
  /** What answers here. */
  model: ModelRef;
  args: string;
}

export interface Answer {
  text: string;
  effect?: Effect;
}

/** What is preferred in the session from now on: as before, but for this. */
export function preferring({ deps, given }: Asked, change: Partial<Preferences>): Preferences {
  return { ...given.hold.session.prefers, ...change, at: deps.store.now() };
}
