import { sessions as contract, TURN_DEADLINE_MS, TURNS_LOG } from '@switchyard/contracts';
import { createModels } from '@switchyard/models';
import { createLeases, defineService } from '@switchyard/service-kit';
import { openAgentDirectory } from './agents.ts';
import { messageCollection, sessionCollection, turnCollection } from './data.ts';
import { agentExecute, agentStream } from './handlers/agent-execute.ts';
import { sessionDelete } from './handlers/session-delete.ts';
import { sessionExport } from './handlers/session-export.ts';
import { sessionHistory } from './handlers/session-history.ts';
import { sessionList } from './handlers/session-list.ts';
import { sessionReset } from './handlers/session-reset.ts';
import { sessionSend } from './handlers/session-send.ts';
import { sessionStatus } from './handlers/session-status.ts';
import { turnsResume, turnsRun, turnsStart } from './handlers/turns.ts';
import { createEmptying } from './sessions/emptying.ts';
import { createRunner } from './turns/runner.ts';
import { startSweeper } from './turns/sweeper.ts';

const SWEEP_MS = 5_000;
const ORPHAN_MS = 30_000;

export interface SessionsTiming {
  /** How long one turn may run. */
  turnDeadlineMs?: number;
  /** How often what nobody heard is looked for. */
  sweepMs?: number;
  /** How long a session may be held in the name of a turn that is not written. */
  orphanMs?: number;
  /** How long a lease lives without being renewed. */
  leaseMs?: number;
  /** How often a lease is renewed. */
  renewMs?: number;
}

/** Owns conversations: who said what to which agent, and the turns that answer. */
export const sessions = defineSessions();

/** The same on another clock. */
export function defineSessions(timing: SessionsTiming = {}) {
  const { turnDeadlineMs = TURN_DEADLINE_MS, sweepMs = SWEEP_MS, orphanMs = ORPHAN_MS, ...leaseTiming } = timing;
  return defineService({
    contract,
    version: '0.1.0',
    settings: ['models', 'providers', 'queue', 'daemon'],

    async setup({ settings, store, bus, log, own, replica, env }) {
      const data = await store.open({ sessions: sessionCollection, turns: turnCollection, messages: messageCollection });
      // Frames published before there is a log are kept nowhere.
      await bus.log(TURNS_LOG);
      const agents = own.use(await openAgentDirectory(bus, env, log));
      const models = createModels({
        settings: () => settings.current,
        secret: async (name) => (await bus.call('secrets.resolve', { name })).value,
        env,
        log,
      });
      const leases = createLeases({ documents: data.turns, owner: replica, now: () => store.now(), log, ...leaseTiming });
      const runner = own.use(createRunner({ ...data, bus, store, agents, models, leases, settings, log, turnDeadlineMs }));
      own.use(startSweeper({ ...data, bus, store, leases, runner, log, everyMs: sweepMs, orphanMs }));
      const wakes = bus.onWake('sessions', () => void runner.pump());
      own.defer(() => wakes.unsubscribe());
      const emptying = createEmptying({ ...data, store, dispatch: runner.dispatch });
      return {
        'agent.execute': agentExecute(runner),
        'agent.stream': agentStream(runner),
        'session.send': sessionSend(runner),
        'session.history': sessionHistory(data),
        'session.list': sessionList(data.sessions, store),
        'session.export': sessionExport(data),
        'session.delete': sessionDelete({ ...data, bus, emptying }),
        'session.reset': sessionReset({ ...data, store, emptying }),
        'session.status': sessionStatus(data.sessions, agents, models),
        'turns.start': turnsStart(runner),
        'turns.run': turnsRun({ bus, models, agents }),
        'turns.resume': turnsResume(data.turns, data.sessions),
      };
    },
  });
}
