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

/** What the client calls a tool that the model knows as a function. The response object repeats it, and calls are rendered with it. */
export type ToolOrigin =
  | { type: 'custom'; name: string; description: string | null; format: unknown }
  | { type: 'namespace'; namespace: string; description: string | null; name: string }
  | { type: 'local_shell' };

/** A function of a turn. Without an origin the client calls it a function as well. */
export type RequestedTool = CallerTool & { origin?: ToolOrigin };

export interface RequestedTools {
  tools: readonly RequestedTool[];
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
    offered: offered.map(({ origin: _origin, ...tool }) => tool),
    ...(resolvedChoice === undefined ? {} : { choice: resolvedChoice }),
    ...(parallel === undefined ? {} : { parallel }),
  };
}

function hasTool(tools: readonly { name: string }[], { name: toolName }: { name: string }): boolean {
  return tools.some((tool) => tool.name === toolName);
}

/** Renders the tools for the response object. Tools of one namespace are one entry. */
export function createToolsEcho(tools: readonly RequestedTool[]): object[] {
  const entries: object[] = [];
  let namespace: { name: string; tools: object[] } | undefined;
  for (const tool of tools) {
    const { origin } = tool;
    if (origin?.type !== 'namespace') {
      namespace = undefined;
      entries.push(origin ?? createFunctionEcho(tool));
      continue;
    }
    if (namespace?.name !== origin.namespace) {
      namespace = { name: origin.namespace, tools: [] };
      entries.push({ type: 'namespace', description: origin.description, ...namespace });
    }
    namespace.tools.push(createFunctionEcho({ ...tool, name: origin.name }));
  }
  return entries;
}

function createFunctionEcho({ name: toolName, description, parameters, strict }: CallerTool) {
  return { type: 'function', name: toolName, description: description ?? null, parameters: parameters ?? null, strict: strict ?? null };
}
