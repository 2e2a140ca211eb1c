import { z } from 'zod';
import { AgentId, JsonObject } from '../values/common.ts';
import { defineOperations, TOOL_EFFECTS } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { SkillInstructions, SkillName } from './skills.ts';

const USE_DEADLINE_MS = 600_000;

/** Tools that the providers of one agent offer at most. One entry of the bucket holds them all. */
const MAX_OFFERED_TOOLS = 500;

const OfferedToolName = z
  .string()
  .max(MAX.id)
  .regex(/^[A-Za-z0-9_-]{1,128}$/)
  .describe('as models call it, for example mcp__<server>--<tool>');

/** A tool that appeared at run time: of an MCP server or of a skill. */
export const OfferedTool = z.object({
  name: OfferedToolName,
  group: z.enum(['mcp', 'skills']),
  provider: boundedString(MAX.name).describe('the MCP server or the skill that it belongs to'),
  description: boundedString(MAX.line),
  parameters: JsonObject.describe('JSON schema of the input'),
  readOnly: z.boolean().default(false).describe('calls change nothing and may run side by side'),
  idempotent: z.boolean().default(false).describe('calls may be repeated'),
  effect: z.enum(TOOL_EFFECTS).optional().describe('default: read for readOnly, else destructive; hints of untrusted servers do not count'),
});
export type OfferedTool = z.infer<typeof OfferedTool>;

/** The run-time tools of one agent, in the bucket `offered-tools` under its tenant and id. */
export const OfferedTools = z.object({
  tenant: boundedString(MAX.id),
  agentId: AgentId,
  tools: z.array(OfferedTool).max(MAX_OFFERED_TOOLS),
});
export type OfferedTools = z.infer<typeof OfferedTools>;

/** Tools that appear at run time. The tools service keeps the offers and executes the calls. */
export const toolsOperations = defineOperations({
  'tools.offer': {
    summary: 'Replaces the run-time tools of one provider for one agent. Without tools the offer ends.',
    callers: ['workspace', 'channels', 'browser'],
    params: z.strictObject({
      agentId: AgentId,
      provider: boundedString(MAX.name),
      tools: z.array(OfferedTool.omit({ provider: true })).max(MAX_OFFERED_TOOLS),
    }),
    result: z.object({ offered: z.int().nonnegative() }),
    blobs: ['tools'],
    idempotent: true,
  },
  'tools.use': {
    summary: 'Executes a run-time tool of the agent that the principal acts as.',
    callers: ['sessions', 'graph'],
    params: z.strictObject({ name: OfferedToolName, input: z.unknown() }),
    result: z.object({ result: z.unknown(), failed: z.boolean().describe('the tool reported an error, which is the result') }),
    blobs: ['*'],
    deadlineMs: USE_DEADLINE_MS,
    emits: ['skill:executed'],
  },
  'skills.use': {
    summary: 'Returns the instructions of a skill that a user invoked for an agent.',
    callers: ['sessions'],
    params: z.strictObject({
      agentId: AgentId,
      name: SkillName,
      arguments: boundedString(MAX.text).default('').describe('the text after the name of the skill'),
    }),
    result: SkillInstructions,
    blobs: ['arguments', 'instructions', 'files', 'allowedTools'],
    idempotent: true,
    emits: ['skill:executed'],
  },
});
