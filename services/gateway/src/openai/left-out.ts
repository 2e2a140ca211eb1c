import { isRecord } from './openai-fields.ts';
import { describeOmission } from './request-warnings.ts';

/** The type of a tool, a choice or an item that is left out. It keeps its place, so that errors name the right index. */
export const LEFT_OUT = 'left_out';

/** A body in which parts of other types are marked, and what the client is told about them. */
export interface MarkedBody {
  body: unknown;
  warnings: string[];
}

export interface KnownTypes {
  tools: ReadonlySet<string>;
  /** Types of tools in a namespace. */
  namespaceTools?: ReadonlySet<string>;
  /** Types of input items. */
  items?: ReadonlySet<string>;
}

type Mark = (entry: unknown) => unknown;

/**
 * Marks the tools and input items of types that the gateway does not know. One of them must not refuse the request, because clients send
 * the tools of every provider, and the items of earlier answers of other providers.
 */
export function markLeftOut(body: unknown, known: KnownTypes): MarkedBody {
  if (!isRecord(body)) return { body, warnings: [] };
  const warnings: string[] = [];
  const createMark =
    (types: ReadonlySet<string>, field: string, kind: string): Mark =>
    (entry) => {
      if (!isRecord(entry) || typeof entry['type'] !== 'string' || types.has(entry['type'])) return entry;
      warnings.push(describeOmission(field, kind, entry['type']));
      return { type: LEFT_OUT };
    };
  const markTool = createMark(known.tools, 'tools', 'tool');
  const markInner = createMark(known.namespaceTools ?? known.tools, 'tools', 'tool');
  const marked: Record<string, unknown> = { ...body };
  const { tools, input } = body;
  if (Array.isArray(tools))
    marked['tools'] = tools.map((tool: unknown) => {
      const result = markTool(tool);
      if (!isRecord(result) || result['type'] !== 'namespace' || !Array.isArray(result['tools'])) return result;
      return { ...result, tools: result['tools'].map(markInner) };
    });
  if (Array.isArray(input) && known.items) marked['input'] = input.map(createMark(known.items, 'input', 'item'));
  markChoice(marked, known.tools, warnings);
  return { body: marked, warnings };
}

/** Without a tool that is left the model may call none: neither the requested one nor those of the agent. */
function markChoice(body: Record<string, unknown>, types: ReadonlySet<string>, warnings: string[]): void {
  const { tools, tool_choice: choice } = body;
  if (Array.isArray(tools) && tools.length > 0 && tools.every(isLeftOut)) body['tool_choice'] = 'none';
  else if (isRecord(choice)) body['tool_choice'] = markObjectChoice(choice, types, warnings);
}

function markObjectChoice(choice: Record<string, unknown>, types: ReadonlySet<string>, warnings: string[]): unknown {
  const { type } = choice;
  if (type === 'allowed_tools') return markAllowedTools(choice, types);
  if (typeof type !== 'string' || types.has(type)) return choice;
  warnings.push(describeOmission('tool_choice', 'choice', type));
  return undefined;
}

/** Removes the tools of other types from the allowed ones, which chat completions nest one level deeper than responses. */
function markAllowedTools(choice: Record<string, unknown>, types: ReadonlySet<string>): unknown {
  const { allowed_tools: nested } = choice;
  const allowed = isRecord(nested) ? nested : choice;
  const { tools } = allowed;
  if (!Array.isArray(tools)) return choice;
  const rest = tools.filter((tool: unknown) => !isRecord(tool) || typeof tool['type'] !== 'string' || types.has(tool['type']));
  if (rest.length === 0 && tools.length > 0) return 'none';
  return { ...choice, ...(isRecord(nested) ? { allowed_tools: { ...nested, tools: rest } } : { tools: rest }) };
}

function isLeftOut(entry: unknown): boolean {
  return isRecord(entry) && entry['type'] === LEFT_OUT;
}
