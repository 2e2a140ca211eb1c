import { MAX } from '@switchyard/contracts';
import { z } from 'zod';
import { name, text } from '../openai-fields.ts';
import { toFunctionName, toFunctionTool } from '../tool-conversion.ts';
import { LEFT_OUT } from '../left-out.ts';
import { ResponseTool, type RequestedTool } from './response-tools.ts';

/** The function that stands for the `local_shell` tool, which has no name and no schema of its own. */
const LOCAL_SHELL = {
  name: 'local_shell',
  description: 'Runs a command on the machine of the client and returns its output.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'array', items: { type: 'string' }, description: 'the program and its arguments' },
      working_directory: { type: 'string', description: 'default: the directory of the client' },
      timeout_ms: { type: 'integer', description: 'the longest run time in milliseconds' },
    },
    required: ['command'],
  },
};

const NamespaceTool = z.discriminatedUnion('type', [ResponseTool, z.object({ type: z.literal(LEFT_OUT) }).transform(() => undefined)]);

/** A tool that a lenient client may offer, as the functions that the model can call. Tools of other types are none. */
export const LenientTool = z.discriminatedUnion('type', [
  ResponseTool.transform((tool): RequestedTool[] => [tool]),
  z
    .object({ type: z.literal('custom'), name, description: text.nullish(), format: z.unknown().optional() })
    .transform(({ name: toolName, description, format }): RequestedTool[] => [
      {
        ...toFunctionTool({ name: toolName, description, format }),
        origin: { type: 'custom', name: toolName, description: description ?? null, format: format ?? { type: 'text' } },
      },
    ]),
  z
    .object({ type: z.literal('namespace'), name, description: text.nullish(), tools: z.array(NamespaceTool).max(MAX.many) })
    .transform(({ name: namespace, description, tools }): RequestedTool[] =>
      tools
        .filter((tool) => tool !== undefined)
        .map((tool) => ({
          ...tool,
          name: toFunctionName(namespace, tool.name),
          origin: { type: 'namespace', namespace, description: description ?? null, name: tool.name },
        })),
    ),
  z.object({ type: z.literal('local_shell') }).transform((): RequestedTool[] => [{ ...LOCAL_SHELL, origin: { type: 'local_shell' } }]),
  z.object({ type: z.literal(LEFT_OUT) }).transform((): RequestedTool[] => []),
]);

const NamedTool = z
  .object({ type: z.enum(['function', 'custom']), namespace: name.nullish(), name })
  .transform(({ namespace, name: toolName }) => ({ type: 'function' as const, name: toFunctionName(namespace, toolName) }));
const ShellChoice = z.object({ type: z.literal('local_shell') }).transform(() => ({ type: 'function' as const, name: LOCAL_SHELL.name }));
const mode = z.enum(['auto', 'none', 'required']);

/** The choice of a lenient client, in which custom tools, tools of namespaces and the shell are functions. */
export const LenientToolChoice = z.union([
  mode,
  NamedTool,
  ShellChoice,
  z.object({
    type: z.literal('allowed_tools'),
    mode: mode.default('auto'),
    tools: z
      .array(z.union([NamedTool, ShellChoice]))
      .min(1)
      .max(MAX.many),
  }),
]);
