import {
  inputSchema,
  publicMethods,
  ServiceError,
  unserved,
  within,
  type AgentConfig,
  type Callable,
  type MethodName,
  type Principal,
  type TokenScope,
} from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { ToolCall, ToolChoice, ToolSpec } from '@switchyard/models';

/** The tools of one turn: what the model is told of, and how a call of it is answered. */
export interface ToolBox {
  specs: readonly ToolSpec[];
  /** Never throws for what a tool says: a failure is a result the model can read. */
  use(call: Pick<ToolCall, 'name' | 'input'>, signal: AbortSignal): Promise<ToolResult>;
  /** Whether a call may be made again when nobody knows whether it was made: its contract says that twice is as once. */
  repeatable(name: string): boolean;
}

/** Tools that whoever asked for the turn runs itself: a call of one ends it. */
export interface CallersToolBox {
  specs: readonly ToolSpec[];
  choice?: ToolChoice;
  /** Whether several calls may be handed over at once. */
  parallel: boolean;
  use?: never;
}

export interface ToolResult {
  result: unknown;
  failed: boolean;
}

/** The agent's `skills.toolPolicy`: the profile's tools and those allowed by name, less those denied. */
type ToolPolicy = AgentConfig['skills']['toolPolicy'];

interface Tool {
  method: Callable;
  spec: ToolSpec;
}

interface Offer {
  specs: readonly ToolSpec[];
  methods: ReadonlyMap<string, Callable>;
}

/** Under which ids the calls of a turn's tools are found again. */
export interface ToolOrigin {
  requestId?: string | undefined;
  traceparent?: string | undefined;
}

/** Every method an agent may use within its principal's scopes, called over the bus like any client's call. */
export function toolBox(
  bus: Bus,
  principal: Principal,
  config: Pick<AgentConfig, 'skills' | 'maxToolResultChars'>,
  { requestId, traceparent }: ToolOrigin = {},
): ToolBox {
  const ids = { ...(requestId === undefined ? {} : { requestId }), ...(traceparent === undefined ? {} : { traceparent }) };
  const { specs, methods } = offerTo(principal.scopes, config.skills.toolPolicy);
  let caller: Bus | undefined;
  return {
    specs,
    // A name that is no tool does nothing, however often.
    repeatable: (name) => methods.get(name)?.spec.idempotent ?? true,
    async use({ name, input }, signal) {
      const method = methods.get(name);
      if (!method) return { result: { error: `There is no tool ${name}.` }, failed: true };
      caller ??= bus.as(principal);
      try {
        const result = await caller.call(method.name as 'system.ping', input as Record<string, never>, { ...ids, signal });
        return { result: cut(result, config.maxToolResultChars), failed: false };
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return { result: { error: cut(`${error.code}: ${error.message}`, config.maxToolResultChars) }, failed: true };
      }
    },
  };
}

/** One agent and one set of scopes are offered the same tools until the agent's configuration changes. */
const offers = new WeakMap<ToolPolicy, Map<string, Offer>>();

function offerTo(scopes: readonly TokenScope[], policy: ToolPolicy): Offer {
  let byScopes = offers.get(policy);
  if (!byScopes) offers.set(policy, (byScopes = new Map()));
  const key = [...new Set(scopes)].sort().join(' ');
  let offer = byScopes.get(key);
  if (!offer) {
    const tools = catalogue().filter((tool) => mayUse(tool, scopes, policy));
    offer = { specs: tools.map(({ spec }) => spec), methods: new Map(tools.map(({ spec, method }) => [spec.name, method])) };
    byScopes.set(key, offer);
  }
  return offer;
}

let known: readonly Tool[] | undefined;

function catalogue(): readonly Tool[] {
  known ??= [...publicMethods.values()].filter((method) => method.tool && !unserved.has(method.name as MethodName)).map(toTool);
  return known;
}

/** Named as models can spell it: `session.history` is `session_history`. */
function toTool(method: Callable): Tool {
  const parameters = inputSchema(method.spec.params);
  return { method, spec: { name: method.name.replaceAll('.', '_'), description: method.spec.summary, parameters } };
}

function mayUse(tool: Tool, scopes: readonly TokenScope[], policy: ToolPolicy): boolean {
  const names = [tool.spec.name, tool.method.name];
  if (names.some((name) => policy.deny.includes(name))) return false;
  if (policy.profile !== 'full' && !names.some((name) => policy.allow.includes(name))) return false;
  return within([tool.method.scope ?? 'rpc'], scopes);
}

/** What a model is shown of a result: all of it, or its beginning and a word on how much is missing. */
function cut(result: unknown, maxChars: number): unknown {
  const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
  if (text.length <= maxChars) return result;
  return `${text.slice(0, maxChars).toWellFormed()}… [cut: ${text.length - maxChars} of ${text.length} characters left out]`;
}
