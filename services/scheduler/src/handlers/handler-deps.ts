import type { AgentDirectory, Settings } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Work } from '@switchyard/work';
import type { CronLimits } from '../jobs/cron-limits.ts';
import type { JobDocument, RunDocument } from '../documents/collections.ts';

export interface HandlerDeps {
  jobs: Collection<JobDocument>;
  runs: Collection<RunDocument>;
  jobWork: Work<JobDocument>;
  runWork: Work<RunDocument>;
  agents: AgentDirectory;
  settings: Settings<'scheduler'>;
  /** Limits of the jobs of an agent; without one those of `scheduler.cron`. */
  limits: (tenant: string, agentId?: string) => CronLimits;
  now: () => number;
}
