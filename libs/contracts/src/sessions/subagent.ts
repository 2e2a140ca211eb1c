import { z } from 'zod';
import { Count } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { SubAgentRow } from './session-records.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const Target = z.string().min(1).max(128).describe('the id of the run');
const RUN = 'run_4fT0mUq2Zs8KxY1bNcVdGh';

export const subagentMethods = defineMethods({
  'subagent.list': {
    summary: 'Lists the sub-agent runs of the last minutes, newest first.',
    scope: 'admin',
    params: z.strictObject({ recentMinutes: z.number().nonnegative().default(30) }),
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
    emits: ['session:sub_agent_completed', 'session:sub_agent_lifecycle_ended'],
    examples: [{ params: { target: RUN }, result: { killed: true, runId: RUN } }],
  },
  'subagent.steer': {
    summary: 'Adds a user message to the conversation of a running sub-agent.',
    scope: 'admin',
    params: z.strictObject({ target: Target, message: z.string().min(1).max(MAX.text) }),
    result: z.object({ steered: z.literal(true), runId: boundedString(MAX.id) }),
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
    emits: ['message:received'],
    examples: [{ params: { target: RUN, message: 'Leave out the third offer.' }, result: { steered: true, runId: RUN } }],
  },
});
