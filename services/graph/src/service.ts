import { graph as contract } from '@switchyard/contracts';
import { defineService, openAgentDirectory, systemClock } from '@switchyard/service-kit';
import {
  graphCollection,
  outputCollection,
  roomsCollection,
  runCollection,
  savedGraphCollection,
  stepCollection,
} from './documents/collections.ts';
import { graphCancel } from './handlers/graph-cancel.ts';
import { graphDefine } from './handlers/graph-define.ts';
import { graphExecute } from './handlers/graph-execute.ts';
import { graphDelete, graphList, graphLoad, graphSave } from './handlers/graph-library.ts';
import { graphMermaid } from './handlers/graph-mermaid.ts';
import { graphOutputs } from './handlers/graph-outputs.ts';
import { graphResume } from './handlers/graph-resume.ts';
import { graphDeleteRun, graphRunDetail, graphRuns } from './handlers/graph-runs.ts';
import { graphOutput, graphPipeline } from './handlers/graph-tools.ts';
import { graphStatus } from './handlers/graph-status.ts';
import type { HandlerDeps } from './handlers/handler-deps.ts';
import { createRunWaiters } from './runs/run-waiters.ts';
import { createRunWork } from './runs/run-work.ts';
import { startStepEndSweep } from './runs/step-end-sweep.ts';
import { createStepWork } from './runs/step-work.ts';

const DEFAULT_MAX_RUNNING = 4;
const DEFAULT_MAX_OUTPUT_CHARS = 12_000;
const DEFAULT_MAX_SUB_AGENTS = 20;

/** Runs graphs of agent tasks. */
export const graph = defineService({
  contract,
  version: '0.1.0',
  settings: ['security'],

  async setup({ settings, store, blobs, bus, log, own, replica, env }) {
    const documents = await store.open({
      graphs: graphCollection,
      saved: savedGraphCollection,
      runs: runCollection,
      steps: stepCollection,
      outputs: outputCollection,
      rooms: roomsCollection,
    });
    const agents = own.use(await openAgentDirectory(bus, env, log));
    const now = (): number => store.now();
    const limits = (): ReturnType<HandlerDeps['limits']> => {
      const { graphMaxConcurrency, graphMaxResultLength, graphMaxGlobalSubAgents, graphStartStaggerMs, subAgentMaxSteps, subagentContext } =
        settings.current.security.agentToAgent;
      const { graphStuckKillThresholdMs: maxTurnMs } = subagentContext;
      return {
        maxRunning: graphMaxConcurrency ?? DEFAULT_MAX_RUNNING,
        maxOutputChars: graphMaxResultLength ?? DEFAULT_MAX_OUTPUT_CHARS,
        maxSubAgents: graphMaxGlobalSubAgents ?? DEFAULT_MAX_SUB_AGENTS,
        maxSteps: subAgentMaxSteps,
        staggerMs: graphStartStaggerMs,
        maxTurnMs: maxTurnMs === 0 ? undefined : maxTurnMs,
      };
    };
    const waiters = createRunWaiters(systemClock);
    const common = { ...documents, blobs, bus, log, owner: replica, now, limits, awaited: new Set<string>() };
    const runWork = own.use(createRunWork({ ...common, stepWork: () => stepWork, onEnd: (runId) => waiters.notify(runId) }));
    const stepWork = own.use(
      createStepWork({
        ...common,
        maxSteps: () => limits().maxSubAgents,
        countWakes: (): number => sweep.countWakes(),
        async wakeRun(tenant, runId) {
          await runWork.wake(tenant, runId);
          runWork.startDue();
        },
      }),
    );
    const sweep = own.use(startStepEndSweep({ ...common, stepWork }));
    for (const work of [runWork, stepWork]) work.startDue();
    const deps: HandlerDeps = { ...common, runWork, agents, waiters, clock: systemClock };
    return {
      'graph.define': graphDefine(deps),
      'graph.execute': graphExecute(deps),
      'graph.status': graphStatus(deps),
      'graph.outputs': graphOutputs(deps),
      'graph.cancel': graphCancel(deps),
      'graph.save': graphSave(deps),
      'graph.load': graphLoad(deps),
      'graph.list': graphList(deps),
      'graph.delete': graphDelete(deps),
      'graph.runs': graphRuns(deps),
      'graph.runDetail': graphRunDetail(deps),
      'graph.deleteRun': graphDeleteRun(deps),
      'graph.resume': graphResume(deps),
      'graph.mermaid': graphMermaid(deps),
      'graph.pipeline': graphPipeline(deps),
      'graph.output': graphOutput(deps),
    };
  },
});
