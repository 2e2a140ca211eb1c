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
import type { EndedEpochDocument, SessionDocument } from '../../model/session-document.ts';
import type { SummaryDocument } from '../../model/summary-document.ts';
import type { TurnDocument, TurnEnd } from '../../model/turn-document.ts';
import type { BodyDocument } from '../../model/text-document.ts';
import type { AutoContinue } from './auto-continue.ts';
import type { FrameWriter } from '../../frames/frame-publisher.ts';
import type { SessionLease } from '../../queue/session-lease.ts';
import type { ResumeState } from '../../model/checkpoint-log.ts';
import type { FrameLogQuota } from '../../frames/frame-log-quota.ts';
import type { TurnOutcome } from '../../agent-loop/turn-plan.ts';
import type { FrameBody } from '../../frames/frame-splitting.ts';
import type { MemoryRecall } from '../../memory/memory-recall.ts';
import type { CreateToolBox } from '../../agent-loop/turn-planner.ts';
import type { Recall } from '../../context/exchange-cache.ts';
import type { MemoryCapture } from '../../memory/memory-capture.ts';

export interface TurnRunDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  summaries: Collection<SummaryDocument>;
  /** Epochs that are over. */
  gone: Collection<EndedEpochDocument>;
  compaction: Compaction;
  store: Pick<Store, 'now'>;
  clock: Clock;
  shares: FrameLogQuota;
  bus: Bus;
  models: Models;
  /** Without it only the requested model is called. */
  failover?: Failover;
  /** Without it usage is not limited. */
  budgets?: Budgets;
  tools: CreateToolBox;
  recall: Recall;
  beginnings: Beginnings;
  /** Without it agents remember nothing. */
  memories?: MemoryRecall;
  /** Without it nobody looks at what is said. */
  screening?: Screening;
  /** The same: nothing is told of them. */
  memoryCapture?: MemoryCapture;
  /** Turns that nobody sends. */
  autoContinue: Pick<AutoContinue, 'canContinue' | 'consider'>;
  /** Where help is, for agents that are to know. */
  documentation?: () => string | undefined;
  /** What becomes of turns that wait in a session, as the configuration says now. */
  getQueueMode: (sessionKey: string) => QueueMode;
  /** How many messages become one turn that waits for more to be said; undefined where none does any more. */
  getMaxDebounced: (sessionKey: string) => number | undefined;
  log: Logger;
}

export interface TurnRun {
  lease: SessionLease;
  turn: TurnDocument;
  agent: Agent;
  /** Resolved if undefined. */
  model: ModelRef | undefined;
  principal: Principal;
  frames: FrameWriter;
  /** Trace context of the turn span. */
  traceparent: string | undefined;
  /** Milliseconds that are left of it. */
  remainingMs: () => number;
  /** Where earlier runs of the turn came to. */
  resumeFrom: ResumeState;
  /** Aborts with the ServiceError that then ends the turn, unless it says that somebody else goes on with it. */
  signal: AbortSignal;
  /** Stops the run because the turn was ended elsewhere. */
  stop: () => void;
}

/** A turn that has ended, and how its readers are told, once its session is. */
export interface EndedTurn {
  turn: TurnDocument;
  end: TurnEnd;
  frame: FrameBody;
  /** Usage, if the turn ran to its end here. */
  outcome?: TurnOutcome;
}
