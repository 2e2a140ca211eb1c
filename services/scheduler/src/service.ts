import { scheduler as contract } from '@switchyard/contracts';
import { defineService, openAgentDirectory, systemClock } from '@switchyard/service-kit';
import { jobCollection, runCollection } from './documents/collections.ts';
import { cronAdd } from './handlers/cron-add.ts';
import { cronList } from './handlers/cron-list.ts';
import { cronNext } from './handlers/cron-next.ts';
import { cronRemove } from './handlers/cron-remove.ts';
import { cronRun } from './handlers/cron-run.ts';
import { cronRuns } from './handlers/cron-runs.ts';
import { cronStatus } from './handlers/cron-status.ts';
import { cronUpdate } from './handlers/cron-update.ts';
import type { HandlerDeps } from './handlers/handler-deps.ts';
import { createJobWork } from './jobs/job-work.ts';
import { createRunWork } from './runs/run-work.ts';
import { startTurnEndSweep } from './runs/turn-end-sweep.ts';

/** Owns jobs and their runs. */
export const scheduler = defineService({
  contract,
  version: '0.1.0',
  settings: ['scheduler'],

  async setup({ settings, store, bus, log, own, replica, env }) {
    const { jobs, runs } = await store.open({ jobs: jobCollection, runs: runCollection });
    const agents = own.use(await openAgentDirectory(bus, env, log));
    const now = (): number => store.now();
    const limits = (): (typeof settings.current)['scheduler']['cron'] => settings.current.scheduler.cron;
    const common = { jobs, runs, bus, log, owner: replica, now };
    const ignoreFailure = (): void => undefined; // work that no call has polled is polled by a timer
    const wakeJob = (tenant: string, jobId: string): void => {
      jobWork
        .wake(tenant, jobId)
        .then(() => jobWork.poll())
        .catch(ignoreFailure);
    };
    const runWork = own.use(createRunWork({ ...common, wakeJob, maxConsecutiveErrors: () => limits().maxConsecutiveErrors }));
    const onRun = (): void => void runWork.poll().catch(ignoreFailure);
    const jobWork = own.use(createJobWork({ ...common, onRun, enabled: () => limits().enabled }));
    own.use(startTurnEndSweep({ ...common, runWork, clock: systemClock }));
    await Promise.all([jobWork.poll(), runWork.poll()]);
    const deps: HandlerDeps = { jobs, runs, jobWork, runWork, agents, settings, now };
    return {
      'cron.add': cronAdd(deps),
      'cron.list': cronList(deps),
      'cron.update': cronUpdate(deps),
      'cron.remove': cronRemove(deps),
      'cron.run': cronRun(deps),
      'cron.runs': cronRuns(deps),
      'cron.status': cronStatus(deps),
      'cron.next': cronNext(deps),
    };
  },
});
