import type { BlobStore } from '@switchyard/blob';
import type { Bus } from '@switchyard/bus';
import type { AgentDirectory, Clock } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Work } from '@switchyard/work';
import type { GraphDocument, OutputDocument, RunDocument, SavedGraphDocument, StepDocument } from '../documents/collections.ts';
import type { RunWaiters } from '../runs/run-waiters.ts';
import type { GraphLimits } from '../runs/run-work.ts';

export interface HandlerDeps {
  graphs: Collection<GraphDocument>;
  saved: Collection<SavedGraphDocument>;
  runs: Collection<RunDocument>;
  steps: Collection<StepDocument>;
  outputs: Collection<OutputDocument>;
  blobs: () => Promise<BlobStore>;
  runWork: Work<RunDocument>;
  agents: AgentDirectory;
  bus: Bus;
  waiters: RunWaiters;
  clock: Clock;
  limits: () => GraphLimits & { maxSubAgents: number };
  now: () => number;
  log: { warn(fields: object, message: string): void };
}
