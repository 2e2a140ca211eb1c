import type { Principal, TurnResult } from '@switchyard/contracts';
import { accept, type AcceptDeps, type TurnRequest } from './accept.ts';
import type { TurnDocument } from '../data.ts';
import { awaitEnd } from './await-end.ts';
import { createLauncher, type Launcher, type LauncherDeps } from './launcher.ts';
import { oneAfterAnother } from './one-after-another.ts';
import { toError } from './run-durable.ts';

/** Accepts durable turns and sees them run. */
export interface Runner extends AsyncDisposable, Pick<Launcher, 'dispatch' | 'pump'> {
  start(request: TurnRequest, principal: Principal): Promise<TurnDocument>;
  /** As start, then waits for the end. Leaving (the signal) stops the waiting, never the turn. */
  execute(request: TurnRequest, principal: Principal, signal: AbortSignal): Promise<{ turn: TurnDocument; result: TurnResult }>;
}

export function createRunner(deps: LauncherDeps): Runner {
  const { bus, turns, settings } = deps;
  const launcher = createLauncher(deps);
  const oneByOne = oneAfterAnother();

  function acceptingFor({ tenant }: Principal): AcceptDeps {
    return {
      ...deps,
      maxDepth: () => settings.current.queue.defaultOverflow.maxDepth,
      reserve: (agent) => launcher.reserve(tenant, agent),
      unreserve: (slot) => launcher.unreserve(slot),
      inTurn: (sessionKey, work) => oneByOne(`${tenant} ${sessionKey}`, work),
    };
  }

  async function start(request: TurnRequest, principal: Principal): Promise<TurnDocument> {
    const accepted = await accept(acceptingFor(principal), request, principal);
    const { turn } = accepted;
    if (accepted.replayed) {
      // The race for the key may have held up the session for a moment.
      void launcher.dispatch(turn.sessionKey, principal.tenant);
      return turn;
    }
    const { agent, model, slot } = accepted;
    launcher.announce(turn, model);
    if (slot) launcher.launch({ turn, agent, principal, slot, model });
    else void startLater(turn, principal.tenant);
    return turn;
  }

  async function startLater({ sessionKey }: TurnDocument, tenant: string): Promise<void> {
    if ((await launcher.dispatch(sessionKey, tenant)) === 'full') bus.wake('sessions');
  }

  return {
    start,

    async execute(request, principal, signal) {
      const turn = await start(request, principal);
      const here = launcher.running.get(turn.turnId);
      const end = await awaitEnd({ bus, turns: turns.for(principal), here, turnId: turn.turnId, signal });
      if (end.failure) throw toError(end.failure);
      return { turn, result: end.result };
    },

    dispatch: (sessionKey, tenant) => launcher.dispatch(sessionKey, tenant),
    pump: () => launcher.pump(),
    [Symbol.asyncDispose]: () => launcher[Symbol.asyncDispose](),
  };
}
