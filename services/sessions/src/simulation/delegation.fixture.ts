import { sections, ServiceError } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { pause, type Clock, type Settings } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import { simulatedData, type Process, type SimulatedData, type Simulation, type Watching } from '@switchyard/testkit';
import type { AgentDirectory } from '../agents/agent-directory.ts';
import type { ApprovalDocument } from '../approvals/approval-document.ts';
import { createGates, type Gates } from '../approvals/gates.ts';
import type { CreateToolBox } from '../agent-loop/turn-planner.ts';
import type { SessionDocument } from '../model/session-document.ts';
import type { BodyDocument } from '../model/text-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import type { ResetSession } from '../sessions/session-reset.ts';
import type { RunDocument } from '../subagents/run-document.ts';
import { createSubAgents, type SubAgents } from '../subagents/subagents.ts';
import type { ToolBox } from '../tools/toolbox.ts';
import type { TurnRunner } from '../turns/turn-runner.ts';
import { createDelegationJudge, type DelegatedCall, type DelegationJudge } from './delegation-judge.fixture.ts';
import { principal } from './principal.fixture.ts';

/** Requests are decided or expire within this time. */
const REQUEST_TIMEOUT_MS = 6_000;
/** Runs of a parent that end within this time are announced together. */
const BATCH_MS = 1_000;
const TIMING = { turnPollMs: 5_000, queuePollMs: 1_000, batchMs: BATCH_MS };
const MAX_DEPTH = 2;
const REPLY_TIMEOUT_MS = 8_000;

export const DELEGATION_SETTINGS = {
  approvals: sections.approvals.parse({ enabled: true, defaultTimeoutMs: REQUEST_TIMEOUT_MS }),
  security: sections.security.parse({
    agentToAgent: {
      subAgentToolGroups: ['full'],
      subagentContext: { maxChildrenPerAgent: 2, maxQueuedPerAgent: 1, maxSpawnDepth: MAX_DEPTH },
    },
  }),
};

/** The requests for approval and the runs of a world. */
export interface Delegation {
  approvals: SimulatedData<ApprovalDocument>;
  runs: SimulatedData<RunDocument>;
  judge: DelegationJudge;
  /** Returns whether every request is decided, and every run has ended and is announced. */
  isQuiet(): boolean;
}

export function createDelegation(sabotage?: Watching['sabotage']): Delegation {
  const judge = createDelegationJudge();
  const watching = { ...judge.watching, ...(sabotage ? { sabotage } : {}) };
  const approvals = simulatedData<ApprovalDocument>('approvals', { key: 'requestId', unique: ['pendingKey'] }, watching);
  const runs = simulatedData<RunDocument>('runs', { key: 'runId', unique: [['childOf', 'place']] }, watching);
  return {
    approvals,
    runs,
    judge,
    isQuiet: () =>
      [...approvals.documents.values()].every(({ state }) => state === 'done' || state === 'failed') &&
      [...runs.documents.values()].every(({ endReason, childOf }) => endReason !== undefined && childOf === undefined),
  };
}

export interface DelegationOptions {
  process: Process;
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  agents: AgentDirectory;
  store: { now: () => number };
  settings: Settings<'approvals' | 'security'>;
  bus: Bus;
  log: Logger;
  own: AsyncDisposableStack;
  emptying: ResetSession;
  runner: () => TurnRunner;
}

/** The approvals and sub-agents of one replica. */
export interface DelegationReplica {
  approvals: Gates['approvals'];
  subAgents: SubAgents;
  /** What the runner needs for turns that wait. */
  gated: Pick<Gates, 'gate' | 'questions'> & { withdrawApproval: (tenant: string, requestId: string) => Promise<void> };
  addTools(tools: ToolBox, ...turn: Parameters<CreateToolBox>): ToolBox;
  /** Starts the polls. */
  start(): void;
}

export function openDelegation({ approvals, runs, judge }: Delegation, options: DelegationOptions): DelegationReplica {
  const { process, own, store, bus, runner, settings } = options;
  const common = { ...options, clock: process.clock, owner: process.name };
  const gates = own.use(
    createGates(common, { approvals: approvals.from(process), onRunnable: (tenant, entry) => runner().wake(tenant, entry) }),
  );
  const subAgents = own.use(
    createSubAgents({
      ...common,
      runs: runs.from(process),
      now: () => store.now(),
      settings: () => settings.current.security.agentToAgent,
      timing: TIMING,
    }),
  );
  return {
    approvals: gates.approvals,
    subAgents,
    gated: {
      gate: gates.gate,
      questions: gates.questions,
      withdrawApproval: (tenant, requestId) => gates.approvals.withdraw(tenant, requestId),
    },
    addTools: (tools, { tenant, client, session = '' }, _config, { turnId }) => ({
      ...tools,
      find: (name) => ({ method: name, effect: name === 'destroy' ? 'destructive' : 'read', group: 'dev' }),
      isIdempotent: (name) => name === 'spawn' || tools.isIdempotent(name),
      async use(call, using) {
        const input = call.input as DelegatedCall;
        try {
          if (call.name === 'destroy') return { result: await process.operation(() => judge.destroys(input)), failed: false };
          if (call.name !== 'spawn') return await tools.use(call, using);
          const request = { parentKey: session, task: JSON.stringify(getChildScript(input)), key: `${turnId}/${using.step}` };
          return { result: await subAgents.spawn({ ...principal, tenant, client }, request), failed: false };
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          return { result: { error: error.code }, failed: true };
        }
      },
    }),
    start() {
      void subAgents.poll().catch(() => undefined); // repeated by a timer
      const wakes = bus.onWake('sessions', () => {
        void runner().pollWaiting();
        gates.approvals.startDue();
        void subAgents.poll().catch(() => undefined);
      });
      own.defer(() => wakes.unsubscribe());
    },
  };
}

/** Returns the script of a child. Its calls differ by the call that started it; every second child starts one itself. */
function getChildScript({ turn, call }: DelegatedCall) {
  const kinds = [['destroy'], [], ['spawn', 'destroy']];
  return { turn: `${turn}/${call}`, pieces: 1, tools: kinds[(turn.length + call) % kinds.length], pace: 10 };
}

interface Delegating {
  delegation?: DelegationReplica;
}

/** Lists the pending requests again and again and answers some of them, on up to three replicas at once with verdicts of their own. */
export async function decideRequests({ dice }: Simulation, clock: Clock, pick: () => Delegating | undefined): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    await pause(clock, 300 + dice.below(2_000));
    const pending = await withinReason(pick()?.delegation?.approvals.listPending(principal.tenant), clock);
    for (const { requestId } of pending ?? []) {
      if (dice.chance(0.2)) continue;
      const answers = Array.from({ length: 1 + dice.below(3) }, (_, n) => ({ approved: dice.chance(0.7), approvedBy: `operator ${n}` }));
      await Promise.all(
        answers.map((answer) => withinReason(pick()?.delegation?.approvals.resolve(principal.tenant, requestId, answer), clock)),
      );
    }
  }
}

/** Sometimes kills a run. */
export async function killRun(
  { simulation: { dice }, delegation }: { simulation: Simulation; delegation: Delegation },
  clock: Clock,
  pick: () => Delegating | undefined,
): Promise<void> {
  if (dice.chance(0.5)) return;
  await pause(clock, 3_000 + dice.below(15_000));
  const runs = [...delegation.runs.documents.keys()];
  if (runs.length === 0) return;
  const runId = dice.of(runs).slice(principal.tenant.length + 1);
  await withinReason(pick()?.delegation?.subAgents.kill(principal, runId), clock);
}

/** Returns undefined on failure or timeout. */
async function withinReason<T>(work: Promise<T> | undefined, clock: Clock): Promise<T | undefined> {
  return Promise.race([work?.catch(() => undefined), pause(clock, REPLY_TIMEOUT_MS).then(() => undefined)]);
}
