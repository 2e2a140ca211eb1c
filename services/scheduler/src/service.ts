import { scheduler as contract } from '@switchyard/contracts';
import { defineService, openAgentDirectory, systemClock, toPrincipal } from '@switchyard/service-kit';
import { startTurnEndSweep, wakeEndedTurns } from '@switchyard/work';
import { jobCollection, roomsCollection, runCollection } from './documents/collections.ts';
import { createSystemChecks, listSystemChecks } from './checks/run-checks.ts';
import { cronAdd } from './handlers/cron-add.ts';
import { cronList } from './handlers/cron-list.ts';
import { cronNext } from './handlers/cron-next.ts';
import { cronRemove } from './handlers/cron-remove.ts';
import { cronRun } from './handlers/cron-run.ts';
import { cronRuns } from './handlers/cron-runs.ts';
import { cronStatus } from './handlers/cron-status.ts';
import { cronUpdate } from './handlers/cron-update.ts';
import type { HandlerDeps } from './handlers/handler-deps.ts';
import { heartbeatGet } from './handlers/heartbeat-get.ts';
import { heartbeatStates } from './handlers/heartbeat-states.ts';
import { heartbeatTrigger } from './handlers/heartbeat-trigger.ts';
import { heartbeatUpdate } from './handlers/heartbeat-update.ts';
import { heartbeatsWake } from './handlers/heartbeats-wake.ts';
import { schedulerWake } from './handlers/scheduler-wake.ts';
import { beatCollection, eventCollection } from './heartbeat/beat-document.ts';
import { followBeats } from './heartbeat/beat-follow.ts';
import { createBeatWork } from './heartbeat/beat-work.ts';
import { createHeartbeatPrincipal } from './heartbeat/beat-order.ts';
import { getCronLimits, type CronLimits } from './jobs/cron-limits.ts';
import { createJobWork, type JobWorkDeps } from './jobs/job-work.ts';
import { createExtractionPrincipal, createExtractionWork } from './tasks/extraction-work.ts';
import { followTurns } from './tasks/follow-turns.ts';
import { extractionCollection, taskCollection } from './tasks/task-document.ts';
import { addRun } from './runs/run-overlap.ts';
import { createRunWork } from './runs/run-work.ts';

/** Owns jobs, their runs, and the heartbeats of agents. */
export const scheduler = defineService({
  contract,
  version: '0.1.0',
  settings: ['scheduler', 'monitoring', 'tenantId'],

  async setup({ settings, store, bus, log, own, replica, env }) {
    const { jobs, runs, rooms, extractions, tasks, beats, events } = await store.open({
      jobs: jobCollection,
      runs: runCollection,
      rooms: roomsCollection,
      extractions: extractionCollection,
      tasks: taskCollection,
      beats: beatCollection,
      events: eventCollection,
    });
    const agents = own.use(await openAgentDirectory(bus, env, log));
    const now = (): number => store.now();
    const limits = (tenant: string, agentId?: string): CronLimits =>
      getCronLimits(agentId === undefined ? undefined : agents.find(tenant, agentId), settings.current.scheduler.cron);
    const common = { jobs, runs, bus, log, owner: replica, now };
    const ignoreFailure = (): void => undefined; // work that no call has polled is polled by a timer
    const wakeJob = (tenant: string, jobId: string): void => {
      jobWork
        .wake(tenant, jobId)
        .then(() => jobWork.startDue())
        .catch(ignoreFailure);
    };
    const runWork = own.use(
      createRunWork({
        ...common,
        rooms,
        agents,
        wakeJob,
        maxConcurrentRuns: (tenant, agentId) => limits(tenant, agentId).maxConcurrentRuns,
        maxConsecutiveErrors: (tenant, agentId) => limits(tenant, agentId).maxConsecutiveErrors,
      }),
    );
    const addFire: JobWorkDeps['addRun'] = async (tenant, added) => {
      await addRun({ runs, runWork }, tenant, added);
      runWork.startDue();
    };
    const enabled = (tenant: string, agentId: string): boolean => limits(tenant, agentId).enabled;
    const jobWork = own.use(createJobWork({ ...common, addRun: addFire, enabled }));
    const beatWork = own.use(
      createBeatWork({
        ...common,
        beats,
        events,
        agents,
        settings: () => settings.current.scheduler,
        runChecks: createSystemChecks({ checks: listSystemChecks(env['PATH']), log }),
        monitoring: () => settings.current.monitoring,
        ownTenant: () => settings.current.tenantId,
      }),
    );
    const taskSettings = (): (typeof settings.current)['scheduler']['tasks'] => settings.current.scheduler.tasks;
    const extractionWork = own.use(createExtractionWork({ ...common, extractions, tasks, events, agents, settings: taskSettings }));
    own.use(followTurns({ ...common, extractionWork, settings: taskSettings }));
    own.use(followBeats({ ...common, beats, beatWork, agents, settings, clock: systemClock }));
    own.use(
      startTurnEndSweep({
        service: 'scheduler',
        bus,
        log,
        clock: systemClock,
        sweeps: [
          () =>
            wakeEndedTurns(bus, {
              documents: runs,
              work: runWork,
              getClient: ({ tenant, principal }) => toPrincipal(tenant, principal),
            }),
          () => wakeEndedTurns(bus, { documents: beats, work: beatWork, getClient: ({ tenant }) => createHeartbeatPrincipal(tenant) }),
          () =>
            wakeEndedTurns(bus, {
              documents: extractions,
              work: extractionWork,
              getClient: ({ tenant }) => createExtractionPrincipal(tenant),
            }),
        ],
      }),
    );
    for (const work of [jobWork, runWork, beatWork, extractionWork]) work.startDue();
    const heartbeatDeps = { beats, events, beatWork, agents, settings, bus, now };
    const deps: HandlerDeps = { jobs, runs, jobWork, runWork, agents, settings, limits, now };
    return {
      'cron.add': cronAdd(deps),
      'cron.list': cronList(deps),
      'cron.update': cronUpdate(deps),
      'cron.remove': cronRemove(deps),
      'cron.run': cronRun(deps),
      'cron.runs': cronRuns(deps),
      'cron.status': cronStatus(deps),
      'cron.next': cronNext(deps),
      'heartbeat.get': heartbeatGet(heartbeatDeps),
      'heartbeat.states': heartbeatStates(heartbeatDeps),
      'heartbeat.trigger': heartbeatTrigger(heartbeatDeps),
      'heartbeat.update': heartbeatUpdate(heartbeatDeps),
      'heartbeats.wake': heartbeatsWake(heartbeatDeps),
      'scheduler.wake': schedulerWake(heartbeatDeps),
    };
  },
});
