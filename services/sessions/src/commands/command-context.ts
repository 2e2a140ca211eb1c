import type { ModelRef, Models } from '@switchyard/models';
import type { Collection, Store } from '@switchyard/store';
import type { Agent } from '../agents/agent-directory.ts';
import type { Compaction } from '../context/compaction/compaction.ts';
import type { Recall, SessionRef } from '../context/exchange-cache.ts';
import type { FrameWriter } from '../frames/frame-publisher.ts';
import type { Effect, Preferences } from '../model/session-document.ts';
import type { LoadBudget } from '../sessions/load-budget.ts';
import type { BodyDocument } from '../model/text-document.ts';
import type { SummaryDocument } from '../model/summary-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';

/** Dependencies of the command handlers. */
export interface CommandDeps {
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  summaries: Collection<SummaryDocument>;
  compaction: Pick<Compaction, 'compact'>;
  recall: Pick<Recall, 'last'>;
  models: Models;
  loads?: LoadBudget;
  store: Pick<Store, 'now'>;
}

/** The turn that carries the command. */
export interface CommandTurn {
  /** The session and its tenant. */
  hold: SessionRef;
  agent: Agent;
  frames: Pick<FrameWriter, 'push'>;
  signal: AbortSignal;
}

/** A parsed command with its turn and dependencies. */
export interface CommandRequest {
  deps: CommandDeps;
  options: CommandTurn;
  /** The model that serves this session. */
  model: ModelRef;
  args: string;
}

export interface Answer {
  text: string;
  effect?: Effect;
}

/** Merges `change` into the session's preferences and sets their timestamp. */
export function preferring({ deps, options: given }: CommandRequest, change: Partial<Preferences>): Preferences {
  return { ...given.hold.session.preferences, ...change, at: deps.store.now() };
}
