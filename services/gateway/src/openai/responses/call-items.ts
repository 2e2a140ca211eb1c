import type { CallerToolCall } from '@switchyard/contracts';
import { isRecord } from '../openai-fields.ts';
import { parseJson, readCustomInput, toFunctionName } from '../tool-conversion.ts';

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** What the client calls the tool of a function. */
type CallOrigin = { type: 'custom'; name: string } | { type: 'namespace'; namespace: string; name: string } | { type: 'local_shell' };

/** The origins of the functions of a response, by the name of the function. */
export type CallOrigins = ReadonlyMap<string, CallOrigin>;

const PREFIX = { function_call: 'fc', custom_tool_call: 'ctc', local_shell_call: 'lsh' } as const;

/** A call of a response as the client reads it. */
export interface CallItem {
  id: string;
  type: keyof typeof PREFIX;
  /** The name that the client gave the tool. */
  name: string;
  /** The text that is streamed: the arguments of a function, or the input of a custom tool. */
  text: string;
  render(status: ItemStatus): object;
}

/** Reads the origins from the tools that the response object repeats, so that a stored response is rendered as it was streamed. */
export function readCallOrigins(tools: unknown): CallOrigins {
  const origins = new Map<string, CallOrigin>();
  for (const tool of Array.isArray(tools) ? tools.filter(isRecord) : []) {
    const { type, name } = tool;
    if (type === 'local_shell') origins.set('local_shell', { type });
    if (typeof name !== 'string') continue;
    if (type === 'custom') origins.set(name, { type, name });
    if (type !== 'namespace' || !Array.isArray(tool['tools'])) continue;
    for (const inner of tool['tools'].filter(isRecord)) {
      const { name: innerName } = inner;
      if (typeof innerName === 'string') origins.set(toFunctionName(name, innerName), { type, namespace: name, name: innerName });
    }
  }
  return origins;
}

/** Converts a call of a function to the item that the client expects for its tool. */
export function toCallItem(suffix: string, { call, index }: { call: CallerToolCall; index: number }, origins: CallOrigins): CallItem {
  const { callId: call_id, name, arguments: args } = call;
  const origin = origins.get(name);
  const names = origin?.type === 'namespace' ? { name: origin.name, namespace: origin.namespace } : { name };
  const create = (type: CallItem['type'], text: string, render: (status: ItemStatus) => object): CallItem => {
    const id = `${PREFIX[type]}_${suffix}_${index}`;
    return { id, type, name: names.name, text, render: (status) => ({ type, id, call_id, ...render(status), status }) };
  };
  if (origin?.type === 'custom') {
    const input = readCustomInput(args);
    return create('custom_tool_call', input, (status) => ({ name, input: status === 'in_progress' ? '' : input }));
  }
  const action = origin?.type === 'local_shell' ? readShellAction(args) : undefined;
  if (action !== undefined) return create('local_shell_call', '', () => ({ action }));
  return create('function_call', args, (status) => ({ ...names, arguments: status === 'in_progress' ? '' : args }));
}

/** Reads the action of a shell call. A call without a command stays a call of the function, which the client refuses. */
function readShellAction(args: string): object | undefined {
  const parsed = parseJson(args);
  if (!isRecord(parsed) || !isTexts(parsed['command'])) return undefined;
  const { command, working_directory: directory, timeout_ms: timeoutMs } = parsed;
  return {
    type: 'exec',
    command,
    env: {},
    ...(typeof directory === 'string' ? { working_directory: directory } : {}),
    ...(typeof timeoutMs === 'number' ? { timeout_ms: timeoutMs } : {}),
  };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}
