import { MAX, type CallerTool, type CallerTools } from '@switchyard/contracts';
import { z } from 'zod';
import { name, schema, text } from '../openai-fields.ts';

/** A function of the caller. Tools that a provider runs itself are not supported and are rejected. */
export const ResponseTool = z
  .object({
    type: z.literal('function'),
    name,
    description: text.nullish(),
    parameters: schema.nullish(),
    strict: z.boolean().nullish(),
  })
  .transform(({ name: toolName, description, parameters, strict }) => ({
    name: toolName,
    ...(description == null ? {} : { description }),
    ...(parameters == null ? {} : { parameters }),
    ...(strict == null ? {} : { strict }),
  }));

const functionChoice = z.object({ type: z.literal('function'), name });
const mode = z.enum(['auto', 'none', 'required']);

export const ResponseToolChoice = z.union([
  mode,
  functionChoice,
  z.object({ type: z.literal('allowed_tools'), mode: mode.default('auto'), tools: z.array(functionChoice).min(1).max(MAX.many) }),
]);
type Choice = z.output<typeof ResponseToolChoice>;

export interface RequestedTools {
  tools: readonly CallerTool[];
  choice: Choice | undefined;
  parallel: boolean | undefined;
}

/** Returns the tools of a turn; undefined when the agent uses its own tools; `invalid-choice` when the choice is not offered. */
export function toCallerTools({ tools, choice, parallel }: RequestedTools): CallerTools | undefined | 'invalid-choice' {
  if (tools.length === 0)
    return choice === undefined || choice === 'auto' ? undefined : choice === 'none' ? { offered: [] } : 'invalid-choice';
  const offered =
    typeof choice === 'object' && choice.type === 'allowed_tools' ? tools.filter((tool) => hasTool(choice.tools, tool)) : tools;
  const resolvedChoice = typeof choice !== 'object' ? choice : choice.type === 'function' ? { name: choice.name } : choice.mode;
  const isOffered = offered.length > 0 && (typeof resolvedChoice !== 'object' || hasTool(offered, resolvedChoice));
  if (!isOffered) return 'invalid-choice';
  return {
    offered: [...offered],
    ...(resolvedChoice === undefined ? {} : { choice: resolvedChoice }),
    ...(parallel === undefined ? {} : { parallel }),
  };
}

function hasTool(tools: readonly { name: string }[], { name: toolName }: { name: string }): boolean {
  return tools.some((tool) => tool.name === toolName);
}

/** Renders a tool for the response object. */
export function createToolEcho({ name: toolName, description, parameters, strict }: CallerTool) {
  return { type: 'function', name: toolName, description: description ?? null, parameters: parameters ?? null, strict: strict ?? null };
}
