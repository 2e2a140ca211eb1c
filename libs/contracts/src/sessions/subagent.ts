import { z } from 'zod';
import { AgentId, Count } from '../values/common.ts';
import { defineMethods, type OperationSpecs } from '../definition/define.ts';
import { SubAgentRow, SubAgentSpawned } from './session-records.ts';
import { TURN_EVENTS } from './turn-events.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const Target = z.string().min(1).max(128).describe('the id of the run');
/** Characters of a task that an agent gives to another one. */
const MAX_TASK_CHARS = 100_000;
const RUN = 'run_4fT0mUq2Zs8KxY1bNcVdGh';

export const subagentMethods = defineMethods({
  'subagent.list': {
    summary: 'Lists the sub-agent runs of the last minutes, newest first.',
    scope: 'admin',
    params: z.strictObject({ recentMinutes: z.number().nonnegative().default(30) }),
    blobs: ['runs'],
    result: z.object({ runs: z.array(SubAgentRow).max(MAX.all), total: Count }),
    idempotent: true,
    examples: [
      {
        params: { recentMinutes: 60 },
        result: {
          runs: [
            {
              runId: RUN,
              agentId: 'researcher',
              task: 'Compare the three offers.',
              status: 'running',
              depth: 1,
              sessionKey: `default:sub-agent-${RUN}:sub-agent:${RUN}`,
              startedAt: 1763719200000,
              durationMs: 4100,
            },
          ],
          total: 1,
        },
      },
    ],
  },
  'subagent.kill': {
    summary: 'Stops a sub-agent run, which counts as failed.',
    scope: 'admin',
    params: z.strictObject({ target: Target }),
    result: z.object({ killed: z.literal(true), runId: boundedString(MAX.id) }),
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    emits: ['session:sub_agent_completed', 'session:sub_agent_lifecycle_ended', ...TURN_EVENTS],
    examples: [{ params: { target: RUN }, result: { killed: true, runId: RUN } }],
  },
  'subagent.steer': {
    summary: 'Adds a user message to the conversation of a running sub-agent.',
    scope: 'admin',
    params: z.strictObject({ target: Target, message: z.string().min(1).max(MAX.text) }),
    blobs: ['message'],
    result: z.object({ steered: z.literal(true), runId: boundedString(MAX.id) }),
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
    emits: TURN_EVENTS,
    examples: [{ params: { target: RUN, message: 'Leave out the third offer.' }, result: { steered: true, runId: RUN } }],
  },
});

/** Events of a requested run, from its request to its end. */
export const SPAWN_EVENTS = [
  'session:sub_agent_spawned',
  'session:sub_agent_spawn_started',
  'session:sub_agent_spawn_queued',
  'session:sub_agent_spawn_rejected',
  'session:sub_agent_completed',
  'session:sub_agent_archived',
  'session:sub_agent_lifecycle_ended',
] as const;

export const subagentOperations = {
  'runs.spawn': {
    summary: 'Gives a task to a sub-agent with a session of its own, and returns at once. Its result arrives as a later message.',
    callers: ['sessions'],
    tool: { name: 'sessions_spawn', group: 'spawn' },
    effect: 'mutate',
    params: z.strictObject({
      task: z.string().min(1).max(MAX_TASK_CHARS).describe('everything that the sub-agent has to know; it does not see this conversation'),
      agentId: AgentId.optional().describe('default: the agent of this session'),
      objective: z.string().max(MAX.line).optional().describe('the goal that the task serves'),
    }),
    result: SubAgentSpawned,
    blobs: ['task'],
    emits: SPAWN_EVENTS,
    idempotent: true,
  },
} satisfies OperationSpecs;
