import { ServiceError, type StatelessResult, type StatelessTurn, type TurnFrame } from '@switchyard/contracts';
import type { Bus, Ctx } from '@switchyard/bus';
import { findVisible, type Models } from '@switchyard/models';
import type { AgentDirectory } from '../agents.ts';
import { callersTools, conversationOf } from './conversation.ts';
import { agentSuspended } from './endings.ts';
import { runTurn } from './loop.ts';
import { limitsOf } from './plan.ts';
import { measureStateless } from './turn-metrics.ts';
import { toolBox } from './tools.ts';

export interface StatelessDeps {
  bus: Bus;
  models: Models;
  agents: AgentDirectory;
}

/** What its caller must know of a turn before its end, where nobody reads along: that a tool may have acted. */
export async function* runWhole(
  frames: AsyncGenerator<TurnFrame, StatelessResult, void>,
): AsyncGenerator<TurnFrame, StatelessResult, void> {
  try {
    for (;;) {
      const step = await frames.next();
      if (step.done) return step.value;
      if (step.value.type === 'tool') yield step.value;
    }
  } finally {
    await frames.return(undefined as never);
  }
}

/** A turn that keeps nothing and has no lane: its frames are the answer, and leaving them ends it. */
export async function* runStateless(
  deps: StatelessDeps,
  turn: StatelessTurn,
  caller: Pick<Ctx, 'principal' | 'signal' | 'requestId' | 'traceparent'>,
): AsyncGenerator<TurnFrame, StatelessResult, void> {
  const { principal, signal, requestId, traceparent } = caller;
  const named = await findVisible(deps.models, deps.agents.all(principal.tenant), turn.model);
  const agent = named && deps.agents.find(principal.tenant, named.agentId);
  if (!named || !agent) throw new ServiceError('NOT_FOUND', 'Model not found', { details: { reason: 'MODEL_NOT_FOUND' } });
  if (agent.suspended) throw agentSuspended(agent.agentId);
  let n = 0;
  using measured = measureStateless({ agentId: agent.agentId, turnId: turn.turnId }, traceparent);
  yield { n: n++, type: 'accepted', turnId: turn.turnId, agentId: agent.agentId, model: `${named.model.provider}/${named.model.modelId}` };
  const running = runTurn(deps.models, {
    model: named.model,
    messages: conversationOf(turn),
    tools: turn.tools
      ? callersTools(turn.tools)
      : toolBox(deps.bus, { ...principal, agent: agent.agentId }, agent.config, { requestId, traceparent: measured.traceparent }),
    traceparent: measured.traceparent,
    ...limitsOf(agent),
    signal,
    ...(turn.whole === undefined ? {} : { whole: turn.whole }),
    ...(turn.stop === undefined ? {} : { stop: turn.stop }),
    ...(turn.format === undefined ? {} : { format: turn.format }),
    ...(turn.system === undefined ? {} : { system: turn.system }),
    ...(turn.maxTokens === undefined ? {} : { maxOutputTokens: turn.maxTokens }),
    ...(turn.temperature === undefined ? {} : { temperature: turn.temperature }),
  });
  try {
    for (;;) {
      const frame = await running.next();
      if (frame.done) {
        measured.end(frame.value.result);
        yield { n: n++, type: 'done', result: frame.value.result };
        return frame.value.result;
      }
      yield { n: n++, ...frame.value };
    }
  } catch (error) {
    measured.fail(error);
    throw error;
  } finally {
    await running.return(undefined as never);
  }
}
