import type { Principal, StatelessTurn, UsageOutcome } from '@switchyard/contracts';
import type { ModelRef } from '@switchyard/models';
import type { Agent } from '../agents/agent-directory.ts';
import { getOutcome, type UsageRecorder } from '@switchyard/service-kit';
import { buildResumeState } from '../model/checkpoint-log.ts';
import { createUsageMeter, type UsageMeter } from '../turns/execution/usage-meter.ts';

/** Usage of one stateless turn, recorded once: at its end, or as cancelled when the client leaves. */
export interface StatelessUsage extends Disposable {
  /** Counts a model call of the turn. */
  readonly onModelCall: UsageMeter['record'];
  end(): void;
  fail(error: unknown): void;
}

interface StatelessUsageOptions {
  turn: Pick<StatelessTurn, 'turnId'>;
  agent: Agent;
  model: ModelRef;
  principal: Principal;
}

export function measureStatelessUsage(recorder: UsageRecorder, { turn, agent, model, principal }: StatelessUsageOptions): StatelessUsage {
  const { record, read } = createUsageMeter({ attempts: 1 }, buildResumeState([]));
  const { tenant, client } = principal;
  let recorded = false;
  const recordOnce = (outcome: UsageOutcome): void => {
    if (recorded) return;
    recorded = true;
    recorder.record({ tenant, client, purpose: 'completion', agentId: agent.agentId, model, turnId: turn.turnId, outcome, usage: read() });
  };
  return {
    onModelCall: record,
    end: () => recordOnce('answered'),
    fail: (error) => recordOnce(getOutcome(error)),
    [Symbol.dispose]: () => recordOnce('cancelled'),
  };
}
