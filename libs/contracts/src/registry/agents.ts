import { z } from 'zod';
import { AgentId, Count, JsonObject, NoParams } from '../values/common.ts';
import { AgentConfig } from '../config/agents.ts';
import { createPatchSchema, type DeepPartial } from '../config/patch.ts';
import { defineMethods } from '../definition/define.ts';
import { safeKeys } from '../values/safe-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const Name = z.string().min(1).max(200);
const ProviderName = z.string().min(1).max(128);
const ModelName = z.string().min(1).max(256).describe('provider/model, a bare model id or an alias');

/** An agent with everything it is configured to be; secrets are redacted. */
export const AgentConfigured = z.object({
  agentId: AgentId,
  config: JsonObject.describe('the section agents.<id> of the configuration, with its defaults'),
  suspended: z.boolean(),
  isDefault: z.boolean(),
  workspaceDir: boundedString(MAX.path).optional(),
  version: Count.optional().describe('number of writes to the agent, for baseVersion of agents.update'),
});

const notInForce = z
  .array(boundedString(MAX.line))
  .max(MAX.many)
  .optional()
  .describe('accepted settings of this call without effect, because no service reads them');

export const AgentCreated = z.object({
  agentId: AgentId.describe('the slug of the name'),
  config: JsonObject,
  created: z.literal(true),
  workspaceDir: boundedString(MAX.path).optional(),
  notInForce,
});

export const AgentUpdated = z.object({ agentId: AgentId, config: JsonObject, updated: z.literal(true), notInForce });

/** Effect that an update would have; nothing was written. */
export const AgentUpdateChecked = z.object({
  agentId: AgentId,
  dryRun: z.literal(true),
  valid: z.boolean(),
  errors: z.array(boundedString(MAX.line)).max(MAX.many),
  config: JsonObject.optional(),
  notInForce,
});

type AgentShape = typeof AgentConfig.shape;
type Loose<S extends z.ZodType> = z.ZodOptional<z.ZodType<DeepPartial<z.input<S>>, DeepPartial<z.input<S>>>>;

/** Every key of an agent's configuration, each optional and in part. */
const settings = Object.fromEntries(
  Object.entries(AgentConfig.shape).map(([key, schema]) => [key, createPatchSchema(schema).optional()]),
) as {
  [K in keyof AgentShape]: Loose<AgentShape[K]>;
};

const byId = z.strictObject({ agentId: AgentId });
const config = { name: 'Researcher', provider: 'openai', model: 'gpt-5', maxSteps: 150 };

export const agentsMethods = defineMethods({
  'agents.list': {
    summary: 'Lists the ids of the agents.',
    scope: 'admin',
    params: NoParams,
    result: z.object({ agents: z.array(AgentId).max(MAX.all) }),
    blobs: ['agents'],
    idempotent: true,
    examples: [{ params: {}, result: { agents: ['default', 'researcher'] } }],
  },
  'agents.create': {
    summary: 'Creates an agent, which accepts messages immediately.',
    description: 'The id is the slug of the name. Every other key is a key of the section agents.<id> of the configuration.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject({ ...settings, name: Name, provider: ProviderName.optional(), model: ModelName.optional() }).check(safeKeys()),
    result: AgentCreated,
    blobs: ['*'],
    errors: ['ALREADY_EXISTS', 'FAILED_PRECONDITION'],
    emits: ['agent:hot_added', 'audit:event'],
    examples: [
      {
        params: { name: 'Researcher', provider: 'openai', model: 'gpt-5', maxSteps: 40 },
        result: { agentId: 'researcher', config: { ...config, maxSteps: 40 }, created: true },
      },
    ],
  },
  'agents.get': {
    summary: 'Returns one agent with its effective configuration.',
    scope: 'admin',
    params: byId,
    result: AgentConfigured,
    blobs: ['config'],
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [{ params: { agentId: 'researcher' }, result: { agentId: 'researcher', config, suspended: false, isDefault: false } }],
  },
  'agents.update': {
    summary: 'Updates an agent; the change applies to its next turn.',
    description: 'skills, scheduler and modelFailover are merged deeply, every other key is replaced. dryRun validates without writing.',
    scope: 'admin',
    audited: 'mutate',
    params: z
      .strictObject({
        ...settings,
        agentId: AgentId,
        name: Name.optional(),
        provider: ProviderName.optional(),
        model: ModelName.optional(),
        baseVersion: Count.optional().describe(
          'version that agents.get returned; the write fails with ABORTED if the agent was written since',
        ),
        dryRun: z.boolean().default(false),
      })
      .check(safeKeys()),
    result: z.union([AgentUpdated, AgentUpdateChecked]),
    blobs: ['*'],
    idempotent: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'ABORTED'],
    emits: ['config:patched', 'audit:event'],
    examples: [
      {
        params: { agentId: 'researcher', maxSteps: 60 },
        result: { agentId: 'researcher', config: { ...config, maxSteps: 60 }, updated: true },
      },
      {
        params: { agentId: 'researcher', provider: 'anthropic', dryRun: true },
        result: { agentId: 'researcher', dryRun: true, valid: false, errors: ['provider: no credential for anthropic'] },
      },
    ],
  },
  'agents.delete': {
    summary: 'Deletes an agent. Its sessions are kept, and new turns in them fail.',
    description: 'The default agent cannot be deleted.',
    scope: 'admin',
    audited: 'destructive',
    params: byId,
    result: z.object({ agentId: AgentId, deleted: z.literal(true) }),
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    emits: ['agent:hot_removed', 'audit:event'],
    examples: [{ params: { agentId: 'researcher' }, result: { agentId: 'researcher', deleted: true } }],
  },
  'agents.suspend': {
    summary: 'Suspends an agent: new messages are rejected, running turns finish.',
    scope: 'admin',
    audited: 'destructive',
    params: byId,
    result: z.object({ agentId: AgentId, suspended: z.literal(true) }),
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    emits: ['audit:event'],
    examples: [{ params: { agentId: 'researcher' }, result: { agentId: 'researcher', suspended: true } }],
  },
  'agents.resume': {
    summary: 'Resumes a suspended agent.',
    scope: 'admin',
    params: byId,
    result: z.object({ agentId: AgentId, resumed: z.literal(true) }),
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    emits: ['audit:event'],
    examples: [{ params: { agentId: 'researcher' }, result: { agentId: 'researcher', resumed: true } }],
  },
});
