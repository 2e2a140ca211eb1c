import type { Principal, TurnResult } from '@switchyard/contracts';
import type { AgentDirectory, Agent } from '../agents.ts';
import type { TurnDocument } from '../data.ts';
import { accept, type AcceptDeps, type Accepted, type TurnRequest } from './accept.ts';
import { awaitEnd } from './await-end.ts';
import { createFrameWriter } from './frames.ts';
import { createLauncher, type LauncherDeps } from './launcher.ts';
import { toError } from './run-durable.ts';

export interface RunnerDeps extends LauncherDeps, Pick<AcceptDeps, 'turns' | 'sessions'> {
  agents: AgentDirectory;
}

/** Accepts durable turns and sees them run. */
export interface Runner extends AsyncDisposable {
  start(request: TurnRequest, principal: Principal): Promise<TurnDocument>;
  /** As start, then waits for the end. Leaving (the signal) stops the waiting, never the turn. */
  execute(request: TurnRequest, principal: Principal, signal: AbortSignal): Promise<{ turn: TurnDocument; result: TurnResult }>;
  /** Looks for turns that wait, and starts those that may run here. */
  pump(): Promise<void>;
}

export function createRunner(deps: RunnerDeps): Runner {
  const { bus, turns, settings } = deps;
  const launcher = createLauncher(deps);

  const begin = async (request: TurnRequest, principal: Principal): Promise<TurnDocument> => {
    const maxDepth = settings.current.queue.defaultOverflow.maxDepth;
    const hasRoom = (agent: Agent): boolean => launcher.hasRoom(principal.tenant, agent);
    const accepted = await accept({ ...deps, maxDepth, hasRoom }, request, principal);
    const { turn, agent } = accepted;
    if (accepted.replayed) return turn;
    announce(accepted);
    const started = accepted.holdsLane
      ? launcher.launch(turn, agent, principal)
      : await launcher.dispatch(turn.sessionKey, principal.tenant);
    if (!started) bus.wake('sessions');
    return turn;
  };

  const announce = ({ turn, agent, model }: Accepted): void => {
    const frames = createFrameWriter(bus, turn.turnId, 0);
    const { turnId, sessionKey } = turn;
    frames.push({ type: 'accepted', turnId, sessionKey, agentId: agent.agentId, model: `${model.provider}/${model.modelId}` });
    frames.close();
  };

  return {
    start: begin,

    async execute(request, principal, signal) {
      const turn = await begin(request, principal);
      const here = launcher.running.get(turn.turnId);
      const end = await awaitEnd({ bus, turns: turns.for(principal), here, turnId: turn.turnId, signal });
      if (end.failure) throw toError(end.failure);
      return { turn, result: end.result };
    },

    pump: () => launcher.pump(),
    [Symbol.asyncDispose]: () => launcher[Symbol.asyncDispose](),
  };
}
