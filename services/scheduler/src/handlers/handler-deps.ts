import type { AgentDirectory, Settings } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Work } from '@switchyard/work';
import type { JobDocument, RunDocument } from '../documents/collections.ts';

export interface HandlerDeps {
  jobs: Collection<JobDocument>;
  runs: Collection<RunDocument>;
  jobWork: Work<JobDocument>;
  runWork: Work<RunDocument>;
  agents: AgentDirectory;
  settings: Settings<'scheduler'>;
  now: () => number;
}
