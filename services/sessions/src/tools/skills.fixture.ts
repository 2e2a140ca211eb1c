import {
  bucketKey,
  OFFERED_TOOLS_BUCKET,
  ServiceError,
  tools as contract,
  type OfferedTool,
  type SkillInstructions,
  type TurnRecording,
} from '@switchyard/contracts';
import { principal } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';

export const PAGE = 'mcp__web--page';
export const TRANSFER = 'mcp__bank--transfer';
const AGENTS = ['scripted', 'tools', 'echo'] as const;

function offer(name: string, group: 'skills' | 'mcp', isRead: boolean): OfferedTool {
  return {
    name,
    group,
    provider: name.split('__')[1] ?? name,
    description: 'A tool that this test plays.',
    parameters: { type: 'object' },
    readOnly: isRead,
    effect: isRead ? 'read' : 'destructive',
    idempotent: isRead,
  };
}

type Double = Record<string, Omit<SkillInstructions, 'skill'> | unknown>;

/** Sessions beside a double of the tools service with these skills, a read-only tool and a destructive tool. */
export async function startWithSkills(skills: Double) {
  const app = await testSessions({
    as: principal({ scopes: ['*'] }),
    agents: Object.fromEntries(AGENTS.map((name) => [name, { model: `dev/${name}`, skills: { toolPolicy: { profile: 'full' } } }])),
    env: { SWITCHYARD_DEV_TOOLS: 'on' },
    settings: { security: { agentToAgent: { subAgentToolGroups: ['full'] } } },
    timing: { pollMs: 20, runs: { turnPollMs: 50, queuePollMs: 20, batchMs: 100 } },
  });
  const called: string[] = [];
  const invoked: { agentId: string; name: string; arguments: string }[] = [];
  const service = await app.host.connect('tools');
  await service.serve(
    contract,
    {
      'tools.use': ({ name }) => {
        called.push(name);
        return { result: Object.hasOwn(skills, name) ? { skill: name, ...(skills[name] as object) } : { ok: true }, failed: false };
      },
      'skills.use': (params) => {
        invoked.push(params);
        const skill = skills[`skill__${params.name}`];
        if (skill === undefined) throw new ServiceError('NOT_FOUND', `There is no skill ${params.name}.`);
        const { instructions, ...rest } = skill as SkillInstructions;
        const text = params.arguments === '' ? instructions : `${instructions}\n\nArguments: ${params.arguments}`;
        return { ...rest, skill: params.name, instructions: text };
      },
    },
    { version: '0.0.0' },
  );
  const tools = [
    ...Object.keys(skills).map((name) => offer(name, 'skills', true)),
    offer(PAGE, 'mcp', true),
    offer(TRANSFER, 'mcp', false),
  ];
  const bucket = await service.kv(OFFERED_TOOLS_BUCKET);
  for (const agentId of AGENTS)
    await bucket.put(bucketKey('default', agentId), Buffer.from(JSON.stringify({ tenant: 'default', agentId, tools })));
  await app.bus.flush();
  const observability = (await app.host.connect('observability')).as(principal({ scopes: ['*'] }));
  return {
    app,
    record: async (turnId: string): Promise<TurnRecording> => (await observability.call('turns.record', { turnId })).recording,
    replay: async (recording: TurnRecording) => (await observability.call('turns.replay', { recording })).difference,
    /** Names of the offered tools that were executed, in order. */
    called,
    /** Calls of `skills.use`. */
    invoked,
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

/** A script with one step for each list of tools. */
export function script(...steps: (string | { name: string; input: object })[][]): string {
  const entries = steps.flatMap((step) => [
    ...step.map((tool) => ({ tool: typeof tool === 'string' ? { name: tool, input: {} } : tool })),
    { text: 'next ' },
  ]);
  return JSON.stringify(entries);
}
