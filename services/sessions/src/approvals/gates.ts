import type { Bus } from '@switchyard/bus';
import type { Principal } from '@switchyard/contracts';
import type { Clock, Settings } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { ApprovalDocument } from './approval-document.ts';
import { hasEnded } from '../model/turn-document.ts';
import { findGateReply, type GateReplyOptions } from './gate-reply.ts';
import { createRequesterWake } from './approval-orders.ts';
import { createApprovals, type Approvals } from './approvals.ts';
import { answerInChat, type ChatVerdict } from './chat-verdict.ts';
import { openQuestions } from './open-questions.ts';
import { createQuestionAnswers, type QuestionAnswers } from './question-answer.ts';
import { createSessionWake, type SessionWakeDeps } from './session-wake.ts';
import { createApprovalGate, type ApprovalGate } from './turn-gate.ts';

export interface GatesDeps extends Omit<SessionWakeDeps, 'onRunnable'> {
  settings: Settings<'approvals' | 'security'>;
  bus: Bus;
  owner: string;
  clock: Clock;
  log: Logger;
}

/** Requests for approval and the gate that creates them. */
export interface Gates extends AsyncDisposable {
  approvals: Approvals;
  gate: ApprovalGate;
  questions: QuestionAnswers;
  /** Carries out `/approve` and `/deny`. */
  answerInChat: (principal: Principal, verdict: ChatVerdict) => Promise<string>;
  /** Returns the verdict of a plain message that answers the request of a service. */
  findReply: FindGateReply;
}

export type FindGateReply = (options: Omit<GateReplyOptions, 'approvals' | 'settings'>) => ReturnType<typeof findGateReply>;

export function createGates(
  deps: GatesDeps,
  { approvals: documents, onRunnable }: Pick<SessionWakeDeps, 'onRunnable'> & { approvals: Collection<ApprovalDocument> },
): Gates {
  const { settings, store, owner, clock, log, bus } = deps;
  const approvals = createApprovals({
    approvals: documents,
    owner,
    clock,
    log,
    now: () => store.now(),
    cacheTtl() {
      const { batchApprovalTtlMs, denialCacheTtlMs } = settings.current.approvals;
      return { approvedMs: batchApprovalTtlMs, deniedMs: denialCacheTtlMs };
    },
    wakeSession: createRequesterWake(bus, createSessionWake({ ...deps, onRunnable })),
    async isAwaited(tenant, { turnId }) {
      if (turnId === undefined) return true; // the service that ordered it withdraws it
      const turn = await deps.turns.for({ tenant }).get(turnId);
      return turn !== null && !hasEnded(turn);
    },
  });
  approvals.startDue();
  const open = openQuestions({ bus, approvals: documents, now: () => store.now(), log });
  return {
    approvals,
    questions: createQuestionAnswers(approvals, open),
    answerInChat: (principal, verdict) => answerInChat(approvals, settings.current.approvals, principal, verdict),
    findReply: (options) => findGateReply({ ...options, approvals, settings: settings.current.approvals }),
    gate: createApprovalGate(
      () => settings.current,
      approvals,
      () => store.now(),
    ),
    async [Symbol.asyncDispose]() {
      open[Symbol.dispose]();
      await approvals[Symbol.asyncDispose]();
    },
  };
}
