import type { Sections } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Work } from '@switchyard/work';
import type { AgentDirectory } from '../agents/agent-directory.ts';
import type { SessionDocument } from '../model/session-document.ts';
import type { BodyDocument } from '../model/text-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import type { ResetSession } from '../sessions/session-reset.ts';
import type { TurnRunner } from '../turns/turn-runner.ts';
import type { ResultSummarizer } from './result-summary.ts';
import type { RunDocument } from './run-document.ts';

export interface RunTiming {
  /** A run whose wake-up was lost reads its turn after this time. */
  turnPollMs: number;
  /** Interval at which a queued run looks for a free place. */
  queuePollMs: number;
  /** A finished run waits this long for other runs of its parent, so that one turn announces them all. */
  batchMs: number;
}

export const RUN_TIMING: RunTiming = { turnPollMs: 15_000, queuePollMs: 2_000, batchMs: 30_000 };

export interface RunDeps {
  runs: Collection<RunDocument>;
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  agents: AgentDirectory;
  /** The database's clock. */
  now: () => number;
  /** Timers of the leases and polls; those of the system by default. */
  clock?: Clock;
  owner: string;
  log: { warn(fields: object, message: string): void };
  settings: () => Sections['security']['agentToAgent'];
  runner: () => Pick<TurnRunner, 'start' | 'cancel'>;
  emptying: ResetSession;
  /** Without it long results are truncated instead of summarized. */
  summarizer?: ResultSummarizer;
  timing: RunTiming;
}

/** The dependencies of what changes runs, with their work. */
export interface RunWorkDeps extends RunDeps {
  work: () => Work<RunDocument>;
  /** Notifies the client of an ended run. `result` is the text that its parent reads, or the error. */
  notifyEnd: (tenant: string, run: RunDocument, result: string) => void;
}
