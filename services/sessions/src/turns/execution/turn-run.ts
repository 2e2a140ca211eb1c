import type { Principal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Failover, ModelRef, Models } from '@switchyard/models';
import type { Clock } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { Agent } from '../../agents/agent-directory.ts';
import type { Budgets } from '../../budgets/budgets.ts';
import type { Beginnings } from '../../context/history-prefix-cache.ts';
import type { Compaction } from '../../context/compaction/compaction.ts';
import type { Screening } from '../../screening/screening.ts';
import type { QueueMode } from '../../queue/queue-policy.ts';
import type { GoneDocument, SessionDocument } from '../../model/session-document.ts';
import type { SummaryDocument } from '../../model/summary-document.ts';
import type { TurnDocument, TurnEnd } from '../../model/turn-document.ts';
import type { BodyDocument } from '../../model/text-document.ts';
import type { FollowUps } from './auto-continue.ts';
import type { FrameWriter } from '../../frames/frame-publisher.ts';
import type { Hold } from '../../queue/session-lease.ts';
import type { Standing } from '../../model/checkpoint-log.ts';
import type { LogShares } from '../../frames/frame-log-quota.ts';
import type { TurnOutcome } from '../../agent-loop/turn-plan.ts';
import type { FrameBody } from '../../frames/frame-splitting.ts';
import type { Memories } from '../../memory/memory-recall.ts';
import type { ToolsOf } from '../../agent-loop/turn-planner.ts';
import type { Recall } from '../../context/exchange-cache.ts';
import type { Remembering } from '../../memory/memory-capture.ts';

export interface RunDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  summaries: Collection<SummaryDocument>;
  /** Epochs that are over. */
  gone: Collection<GoneDocument>;
  compaction: Compaction;
  store: Pick<Store, 'now'>;
  clock: Clock;
  shares: LogShares;
  bus: Bus;
  models: Models;
  /** Without it the model meant is the only one that is asked. */
  failover?: Failover;
  /** Without it nobody counts what agents use. */
  budgets?: Budgets;
  tools: ToolsOf;
  recall: Recall;
  beginnings: Beginnings;
  /** Without it agents remember nothing. */
  memories?: Memories;
  /** Without it nobody looks at what is said. */
  screening?: Screening;
  /** The same: nothing is told of them. */
  remembering?: Remembering;
  /** Turns that nobody sends. */
  followUps: Pick<FollowUps, 'wanted' | 'consider'>;
  /** Where help is, for agents that are to know. */
  documentation?: () => string | undefined;
  /** What becomes of turns that wait in a session, as the configuration says now. */
  modeOf: (sessionKey: string) => QueueMode;
  /** How many messages become one turn that waits for more to be said; undefined where none does any more. */
  mostGathered: (sessionKey: string) => number | undefined;
  log: Logger;
}

export interface RunGiven {
  hold: Hold;
  turn: TurnDocument;
  agent: Agent;
  /** Asked for unless given. */
  model: ModelRef | undefined;
  principal: Principal;
  frames: FrameWriter;
  /** The span of the turn. */
  traceparent: string | undefined;
  /** Milliseconds that are left of it. */
  left: () => number;
  /** Where earlier runs of the turn came to. */
  from: Standing;
  /** Aborts with the ServiceError that then ends the turn, unless it says that somebody else goes on with it. */
  signal: AbortSignal;
  /** The turn was ended by somebody else: it stops here. */
  stop: () => void;
}

/** A turn that has ended, and how its readers are told, once its session is. */
export interface Ended {
  turn: TurnDocument;
  end: TurnEnd;
  frame: FrameBody;
  /** What it took, where it was run here to its end. */
  outcome?: TurnOutcome;
}
