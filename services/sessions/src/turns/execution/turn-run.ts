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
import type { LoadBudget } from '../../sessions/load-budget.ts';
import type { StorageQuota } from '../../storage/storage-quota.ts';
import type { Screening } from '../../screening/screening.ts';
import type { QueueMode } from '../../queue/queue-policy.ts';
import type { EndedEpochDocument, SessionDocument } from '../../model/session-document.ts';
import type { SummaryDocument } from '../../model/summary-document.ts';
import type { TurnDocument, TurnEnd } from '../../model/turn-document.ts';
import type { BodyDocument } from '../../model/text-document.ts';
import type { ChatVerdict } from '../../approvals/chat-verdict.ts';
import type { FindGateReply } from '../../approvals/gates.ts';
import type { ApprovalGate } from '../../approvals/turn-gate.ts';
import type { QuestionAnswers } from '../../approvals/question-answer.ts';
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
  /** Epochs that have ended but are not cleared. */
  gone: Collection<EndedEpochDocument>;
  compaction: Compaction;
  store: Pick<Store, 'now'>;
  clock: Clock;
  shares: FrameLogQuota;
  bus: Bus;
  models: Models;
  /** Without it only the requested model is called. */
  failover?: Failover;
  /** Without it stored bytes are not counted. */
  storage?: Pick<StorageQuota, 'add'>;
  /** Without it `/export` loads a conversation at once. */
  loads?: LoadBudget;
  /** Without it usage is not limited. */
  budgets?: Budgets;
  tools: CreateToolBox;
  recall: Recall;
  beginnings: Beginnings;
  /** Without it no memories are injected. */
  memories?: MemoryRecall;
  /** Without it messages are not screened. */
  screening?: Screening;
  /** Without it no tool call is gated. */
  gate?: ApprovalGate;
  /** Carries out `/approve` and `/deny` and returns the reply. */
  answerApproval?: (principal: Principal, verdict: ChatVerdict) => Promise<string>;
  /** Passes the answers of users to the questions of agents. */
  questions?: QuestionAnswers;
  /** Withdraws the request for approval that a cancelled turn waited for. */
  withdrawApproval?: (tenant: string, requestId: string) => Promise<void>;
  /** Returns the verdict of a plain message that answers the request of another service. */
  findGateReply?: FindGateReply;
  /** Without it no memories are captured. */
  memoryCapture?: MemoryCapture;
  /** Turns that nobody sends. */
  autoContinue: Pick<AutoContinue, 'canContinue' | 'consider'>;
  /** Returns a note about the product documentation, for agents configured to have it. */
  documentation?: () => string | undefined;
  /** Returns the current queue mode of a session. */
  getQueueMode: (sessionKey: string) => QueueMode;
  /** Returns how many messages a debounced turn merges; undefined when debouncing is off. */
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
  /** Remaining time in milliseconds. */
  remainingMs: () => number;
  /** State after earlier runs. */
  resumeFrom: ResumeState;
  /** Aborted with the error that ends the turn, or with one that says that another replica continues it. */
  signal: AbortSignal;
  /** Stops the run because the turn was ended elsewhere. */
  stop: () => void;
}

/** A finished turn, and the frame for its readers. */
export interface EndedTurn {
  turn: TurnDocument;
  end: TurnEnd;
  frame: FrameBody;
  /** Usage, if the turn ran to its end here. */
  outcome?: TurnOutcome;
}
