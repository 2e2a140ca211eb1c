import { join } from 'node:path';
import { LEASE_TIMING, type LeaseTiming } from '@switchyard/work';
import { sessions as contract, TURN_DEADLINE_MS, TURNS_LOG } from '@switchyard/contracts';
import { createModels } from '@switchyard/models';
import type { Bus } from '@switchyard/bus';
import { countReplicas, createSecretReader, defineService, followSecrets, systemClock } from '@switchyard/service-kit';
import type { Store } from '@switchyard/store';
import { openAgentDirectory } from './agents/agent-directory.ts';
import { approvalCollection } from './approvals/approval-document.ts';
import { createGates } from './approvals/gates.ts';
import { approvalClearDenialCache, approvalPending, approvalResolve, approvalResolveAll } from './handlers/approvals/admin-approval.ts';
import { createBudgets } from './budgets/budgets.ts';
import { createUsageRecorder } from '@switchyard/service-kit';
import { usageCollection } from '@switchyard/service-kit';
import { endedEpochCollection, sessionCollection } from './model/session-document.ts';
import { cacheStatsCollection } from './model/cache-stats-document.ts';
import { budgetCollection } from './model/budget-document.ts';
import { keyedTurnCollection } from './model/keyed-turn-document.ts';
import { summaryCollection } from './model/summary-document.ts';
import { turnCollection } from './model/turn-document.ts';
import { bodyCollection } from './model/text-document.ts';
import { responseSegmentCollection } from './model/response-segment-document.ts';
import { storageUsageCollection } from './model/storage-usage-document.ts';
import { createStorageQuota } from './storage/storage-quota.ts';
import { startSegmentSweep } from './response-chain/segment-removal.ts';
import { createCacheTally } from './cache-stats/cache-stats.ts';
import { agentCacheStats } from './handlers/agent/agent-cache-stats.ts';
import { agentCancel } from './handlers/agent/agent-cancel.ts';
import { agentAttach, agentExecute, agentStart, agentStream } from './handlers/agent/agent-execute.ts';
import { agentGetOperationModels } from './handlers/agent/agent-get-operation-models.ts';
import { budgetsSpend } from './handlers/budgets-spend.ts';
import { contextConversations } from './handlers/context/context-conversations.ts';
import { contextStatus } from './handlers/context/context-status.ts';
import { contextTree } from './handlers/context/context-tree.ts';
import { ctxExpand } from './handlers/context/ctx-expand.ts';
import { ctxInspect } from './handlers/context/ctx-inspect.ts';
import { ctxRecall } from './handlers/context/ctx-recall.ts';
import { ctxResult } from './handlers/context/ctx-result.ts';
import { ctxSearch } from './handlers/context/ctx-search.ts';
import { countsTools, devTools } from './handlers/dev-tools.ts';
import { sessionCompact } from './handlers/session/session-compact.ts';
import { responsesCancel, responsesDelete, responsesGet } from './handlers/responses.ts';
import { sessionDelete } from './handlers/session/session-delete.ts';
import { sessionExport } from './handlers/session/session-export.ts';
import { sessionHistory } from './handlers/session/session-history.ts';
import { sessionList } from './handlers/session/session-list.ts';
import { sessionReset } from './handlers/session/session-reset.ts';
import { sessionResetConversation } from './handlers/session/session-reset-conversation.ts';
import { sessionRunStatus } from './handlers/session/session-run-status.ts';
import { sessionSearch } from './handlers/session/session-search.ts';
import { sessionSend } from './handlers/session/session-send.ts';
import { runsSpawn, sessionSpawn } from './handlers/subagents/session-spawn.ts';
import { subagentKill, subagentList, subagentSteer } from './handlers/subagents/subagent.ts';
import { sessionStatus } from './handlers/session/session-status.ts';
import { approvalsOrder, approvalsVerdicts, approvalsWithdraw } from './handlers/approvals/approval-orders.ts';
import { turnsExchange } from './handlers/turns-exchange.ts';
import { turnsEnds } from './handlers/turns-ends.ts';
import { turnsRecord, turnsReplay } from './handlers/turns-replay.ts';
import { queueStatus } from './handlers/queue-status.ts';
import { usageList } from './handlers/usage-list.ts';
import { turnsCancel, turnsComplete, turnsOnce, turnsOrder, turnsResume, turnsRun, turnsStart } from './handlers/turns.ts';
import { createCompaction } from './context/compaction/compaction.ts';
import { createDistilling } from './context/compaction/summary-distillation.ts';
import { createDocumentation } from './context/documentation.ts';
import { runCollection } from './subagents/run-document.ts';
import { RUN_TIMING, type RunTiming } from './subagents/run-deps.ts';
import { createResultSummarizer } from './subagents/result-summary.ts';
import { createSubAgents } from './subagents/subagents.ts';
import { createSaidIndexes } from './search/tenant-message-indexes.ts';
import { createScreening } from './screening/screening.ts';
import { createLoadBudget } from './sessions/load-budget.ts';
import { createSessionReset } from './sessions/session-reset.ts';
import { startExpirySweep } from './sessions/expiry-sweep.ts';
import { openFailover } from './agents/model-access.ts';
import { createFrameLogQuota } from './frames/frame-log-quota.ts';
import { createSessionLeases } from './queue/session-lease.ts';
import { observeTurns } from './turns/store/turn-metrics.ts';
import type { LauncherDeps } from './turns/turn-launcher.ts';
import { createIdempotentTurns } from './stateless/idempotent-turns.ts';
import type { CreateToolBox } from './agent-loop/turn-planner.ts';
import { createMemoryRecall } from './memory/memory-recall.ts';
import { createReranking } from './memory/memory-reranking.ts';
import { createMemoryCapture } from './memory/memory-capture.ts';
import { createRunner, type TurnRunner } from './turns/turn-runner.ts';
import { createRunningTurns } from './turns/ending/running-turns.ts';
import { startSweeper, type SweeperDeps } from './turns/turn-sweeper.ts';
import { openOfferedTools } from './tools/offered-tools.ts';
import { createToolBox } from './tools/toolbox.ts';
import { createTurnWaiters } from './turns/ending/turn-waiters.ts';

const SWEEP_INTERVAL_MS = 5_000;
const POLL_INTERVAL_MS = 1_000;
const SEGMENT_SWEEP_INTERVAL_MS = 60_000;
const STORAGE_SYNC_INTERVAL_MS = 1_000;
const ORPHAN_AGE_MS = 30_000;

export interface SessionsTiming extends Partial<LeaseTiming> {
  /** Maximum duration of one turn. */
  turnDeadlineMs?: number;
  /** Interval at which expired leases and waiting turns are polled. */
  pollMs?: number;
  /** Interval of the sweeps for unfinished work. */
  sweepMs?: number;
  /** Interval of the sweeps for unused segments of responses. */
  segmentSweepMs?: number;
  /** Interval at which stored bytes are written and read. */
  storageSyncMs?: number;
  /** Minimum age of a turn that is in no queue before the sweeper enqueues it. */
  orphanMs?: number;
  /** Intervals of sub-agent runs. */
  runs?: Partial<RunTiming>;
}

/** Owns conversations and the turns that answer them. */
export const sessions = defineSessions();

/** Builds the service definition with other timing, for tests. */
export function defineSessions(timing: SessionsTiming = {}) {
  return defineService({
    contract,
    version: '0.1.0',
    settings: ['models', 'providers', 'queue', 'daemon', 'security', 'routing', 'documentation', 'approvals'],

    async setup({ settings, store, bus, log, own, replica, data: directory, env }) {
      const {
        budgets: budgetDocuments,
        cached,
        spent,
        usage: storageUsage,
        approvals: approvalDocuments,
        runs: runDocuments,
        ...data
      } = await openData(store);
      // Created before the first publish: frames published without a log are not stored.
      const frames = await bus.log(TURNS_LOG);
      const replicas = own.use(await countReplicas(bus, contract.service));
      const agents = own.use(await openAgentDirectory(bus, env, log));
      const secret = createSecretReader(bus, contract.service);
      const models = createModels({
        settings: () => settings.current,
        secret: (name, origin) => secret(name, origin, 'provider'),
        env,
        log,
      });
      const tally = own.use(createCacheTally({ cached, store, models, log }));
      const failover = openFailover({ models, bus, clock: systemClock, log, answered: (asker, answer) => tally.note(asker, answer) });
      own.use(
        await followSecrets(bus, () => {
          models.clearKeyCache();
          failover.clearKeyCooldowns();
        }),
      );
      const budgets = own.use(createBudgets({ budgets: budgetDocuments, store, clock: systemClock, models }));
      const usage = own.use(createUsageRecorder({ event: 'usage:recorded', documents: spent, store, clock: systemClock, log }));
      const counts = countsTools(env);
      const offeredTools = own.use(await openOfferedTools(bus, log));
      const tools: CreateToolBox = (principal, config, { countsExecutions = false, ...turn }) =>
        createToolBox(bus, principal, config, {
          ...turn,
          countsExecutions: counts && countsExecutions,
          offered: principal.agent === undefined ? undefined : offeredTools.find(principal.tenant, principal.agent),
        });
      const memories = createMemoryRecall({
        bus,
        clock: systemClock,
        log,
        reranking: createReranking({ bus, models, failover, budgets, usage, sessions: data.sessions, clock: systemClock }),
      });
      const screening = createScreening({ bus, clock: systemClock, settings: () => settings.current.security.input, log });
      const storage = own.use(
        createStorageQuota({
          ...data,
          usage: storageUsage,
          store,
          clock: systemClock,
          log,
          limits() {
            const { maxClientBytes, maxTenantBytes } = settings.current.security.storage;
            return { maxClientBytes, maxTenantBytes };
          },
          syncMs: timing.storageSyncMs ?? STORAGE_SYNC_INTERVAL_MS,
        }),
      );
      const loads = createLoadBudget();
      const common = {
        ...data,
        loads,
        store,
        storage,
        bus,
        agents,
        models,
        failover,
        budgets,
        usage,
        tools,
        settings,
        log,
        clock: systemClock,
        owner: replica,
        memories,
        screening,
        documentation: createDocumentation(settings),
        memoryCapture: createMemoryCapture({ ...data, agents, store, bus, log }),
        distilling: createDistilling({ ...data, agents, store, bus, log }),
      };
      const compaction = own.use(createCompaction(common));
      const shares = createFrameLogQuota({
        clock: systemClock,
        room: () => frames.maxBytes / replicas.count(),
        messageBytes: frames.messageBytes,
      });
      // Disposed after the runner, so that a drain shows in the gauges.
      const gauges = own.use(new DisposableStack());
      const gates = own.use(
        createGates(common, { approvals: approvalDocuments, onRunnable: (tenant, entry) => runner.wake(tenant, entry) }),
      );
      const gated = {
        ...common,
        gate: gates.gate,
        answerApproval: gates.answerInChat,
        findGateReply: gates.findReply,
        questions: gates.questions,
        withdrawApproval: (tenant: string, requestId: string) => gates.approvals.withdraw(tenant, requestId),
      };
      const runner = openRunner({ ...gated, own, timing, shares, compaction });
      gauges.defer(observeTurns(runner, data.turns));
      const { turnDeadlineMs = TURN_DEADLINE_MS, pollMs = POLL_INTERVAL_MS } = timing;
      const runs = own.use(createRunningTurns({ bus })); // stateless turns
      const once = own.use(createIdempotentTurns({ ...gated, shares, runs, timing: { ...LEASE_TIMING, ...timing }, turnDeadlineMs }));
      const reading = { ...data, storage, clock: systemClock };
      const emptying = createSessionReset({ ...reading, store, onEnded: (tenant, key) => subAgents.sweep(tenant, key) });
      const subAgents = own.use(
        createSubAgents({
          ...data,
          runs: runDocuments,
          agents,
          now: () => store.now(),
          owner: replica,
          log,
          bus,
          settings: () => settings.current.security.agentToAgent,
          runner: () => runner,
          emptying,
          summarizer: createResultSummarizer({ agents, models, failover, budgets, usage, clock: systemClock, log }),
          timing: { ...RUN_TIMING, ...timing.runs },
        }),
      );
      void subAgents.poll().catch(() => undefined); // repeated by a timer
      // One subscription serves the whole service, because a wake-up reaches only one.
      const wakes = bus.onWake('sessions', () => {
        void runner.pollWaiting();
        gates.approvals.startDue();
        void subAgents
          .poll()
          .catch((err: unknown) =>
            log.warn({ err, errorKind: 'dependency', hint: 'each run asks again by itself' }, 'failed to check the turns of sub-agents'),
          );
      });
      own.defer(() => wakes.unsubscribe());
      own.use(startExpirySweep({ ...reading, store, agents, log, pollMs }));
      own.use(startSegmentSweep({ ...reading, store, log, pollMs: timing.segmentSweepMs ?? SEGMENT_SWEEP_INTERVAL_MS }));
      const dir = join(directory, 'index', contract.service);
      const indexes = own.use(createSaidIndexes({ ...reading, store, dir, log }));
      const responses = { ...common, shares, runs, once };
      return {
        'agent.execute': agentExecute(runner),
        'agent.stream': agentStream(runner),
        'agent.cancel': agentCancel(runner),
        'agent.cacheStats': agentCacheStats({ agents, cached, store, tally }),
        'agent.getOperationModels': agentGetOperationModels(agents, models),
        'agent.start': agentStart(runner),
        'agent.attach': agentAttach(runner),
        'admin.approval.pending': approvalPending({ ...data, approvals: gates.approvals }),
        'admin.approval.resolve': approvalResolve({ ...data, approvals: gates.approvals }),
        'admin.approval.resolveAll': approvalResolveAll({ ...data, approvals: gates.approvals }),
        'admin.approval.clearDenialCache': approvalClearDenialCache(gates.approvals),
        'session.send': sessionSend(runner),
        'session.history': sessionHistory({ ...reading, loads }),
        'session.list': sessionList({ ...reading, store }),
        'session.export': sessionExport({ ...reading, loads }),
        'session.delete': sessionDelete({ ...reading, bus, emptying, loads }),
        'session.reset': sessionReset({ ...data, store, emptying }),
        'session.reset_conversation': sessionResetConversation({ ...reading, store, emptying }),
        'session.compact': sessionCompact({ ...reading, store, compaction }),
        'session.status': sessionStatus(reading, agents, models),
        'session.run_status': sessionRunStatus({ ...data, store, subAgents }),
        'session.spawn': sessionSpawn(subAgents),
        'runs.spawn': runsSpawn(subAgents),
        'subagent.list': subagentList(subAgents),
        'subagent.kill': subagentKill(subAgents),
        'subagent.steer': subagentSteer(subAgents),
        'session.search': sessionSearch({ ...reading, indexes }),
        'context.conversations': contextConversations({ ...reading, agents }),
        'context.tree': contextTree({ ...reading, agents }),
        'context.status': contextStatus({ ...data, agents, models }),
        'budgets.spend': budgetsSpend(common),
        'ctx.search': ctxSearch(data),
        'ctx.inspect': ctxInspect(common),
        'ctx.expand': ctxExpand(common),
        'ctx.recall': ctxRecall(common),
        'ctx.result': ctxResult(common),
        'turns.start': turnsStart(runner),
        'turns.order': turnsOrder(runner),
        'turns.cancel': turnsCancel({ turns: data.turns, store, runner }),
        'approvals.order': approvalsOrder(gates.approvals, { agents }),
        'approvals.verdicts': approvalsVerdicts(gates.approvals),
        'approvals.withdraw': approvalsWithdraw(gates.approvals),
        'turns.ends': turnsEnds({ ...data, clock: systemClock, runner }),
        'turns.exchange': turnsExchange(data),
        'turns.record': turnsRecord(common),
        'turns.replay': turnsReplay(common),
        'queue.status': queueStatus(data),
        'usage.list': usageList({ ...data, spent }),
        'turns.run': turnsRun(gated),
        'turns.complete': turnsComplete(gated),
        'turns.once': turnsOnce(once),
        'turns.resume': turnsResume({ ...data, runner, once }),
        'responses.get': responsesGet({ ...responses, loads }),
        'responses.cancel': responsesCancel(responses),
        'responses.delete': responsesDelete(responses),
        ...(await devTools(env, store)),
      };
    },
  });
}

async function openData(store: Store) {
  return store.open({
    sessions: sessionCollection,
    turns: turnCollection,
    bodies: bodyCollection,
    summaries: summaryCollection,
    gone: endedEpochCollection,
    kept: keyedTurnCollection,
    segments: responseSegmentCollection,
    usage: storageUsageCollection,
    budgets: budgetCollection,
    cached: cacheStatsCollection,
    spent: usageCollection,
    approvals: approvalCollection,
    runs: runCollection,
  });
}

interface RunnerOptions
  extends Omit<LauncherDeps, 'holds' | 'waiting' | 'runs' | 'autoContinue' | 'turnDeadlineMs' | 'bus'>, Pick<SweeperDeps, 'gone'> {
  bus: Bus;
  own: AsyncDisposableStack;
  owner: string;
  timing: SessionsTiming;
}

/** Builds everything that runs durable turns and recovers unfinished ones. Takes any clock. */
export function openRunner({ own, owner, timing, ...deps }: RunnerOptions): TurnRunner {
  const {
    turnDeadlineMs = TURN_DEADLINE_MS,
    pollMs = POLL_INTERVAL_MS,
    sweepMs = SWEEP_INTERVAL_MS,
    orphanMs = ORPHAN_AGE_MS,
    runs: _runs,
    ...lease
  } = timing;
  const holds = own.use(createSessionLeases({ ...deps, owner, timing: { ...LEASE_TIMING, ...lease } }));
  const waiting = own.use(createTurnWaiters(deps));
  const runs = own.use(createRunningTurns(deps));
  const runner = own.use(createRunner({ ...deps, holds, waiting, runs, turnDeadlineMs }));
  own.use(startSweeper({ ...deps, holds, runner, pollMs, sweepMs, orphanMs }));
  return runner;
}
