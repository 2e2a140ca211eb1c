import {
  callables,
  inputSchema,
  publicMethods,
  ServiceError,
  sessions,
  toolName,
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
import { allows, type ToolPolicy } from './tool-policy.ts';

/** The tools of one turn: what the model is told of, and how a call of it is answered. */
export interface ToolBox {
  specs: readonly ToolSpec[];
  /** Never throws for what a tool says: a failure is a result the model can read. */
  use(call: Pick<ToolCall, 'name' | 'input'>, using: ToolUse): Promise<ToolResult>;
  /** Whether a call may be made again when nobody knows whether it was made: its contract says that twice is as once. */
  repeatable(name: string): boolean;
}

/** Which call of its turn it is, and within what it is made. */
export interface ToolUse {
  signal: AbortSignal;
  step: number;
  /** Which call of the step it is, where the step has several. */
  at?: number | undefined;
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

interface Tool {
  method: Callable;
  spec: ToolSpec;
}

interface Offer {
  specs: readonly ToolSpec[];
  methods: ReadonlyMap<string, Callable>;
}

/** The turn that tools are for. */
export interface ToolTurn {
  turnId: string;
  /** The ids under which its calls are found again. */
  requestId?: string | undefined;
  traceparent?: string | undefined;
  /** Milliseconds that are left of it: no call of it is given more. */
  left: () => number;
  /** It has the tools whose executions can be counted. */
  counted?: boolean;
  /** More was said in its conversation than its model is told: it has the tools that look it up. */
  earlier?: boolean;
}

/**
 * Every method an agent may use within its principal's scopes, called over the bus like any client's call. A call that is made again
 * goes under the same key: the turn, the step, and in a step with several calls which of them it is.
 */
export function toolBox(
  bus: Bus,
  principal: Principal,
  config: Pick<AgentConfig, 'skills' | 'maxToolResultChars'>,
  { turnId, requestId, traceparent, left, counted = false, earlier = false }: ToolTurn,
): ToolBox {
  const ids = { ...(requestId === undefined ? {} : { requestId }), ...(traceparent === undefined ? {} : { traceparent }) };
  const { specs, methods } = offerTo(principal.scopes, config.skills.toolPolicy, { counted, earlier });
  let caller: Bus | undefined;
  return {
    specs,
    // A name that is no tool does nothing, however often.
    repeatable: (name) => methods.get(name)?.idempotent ?? true,
    async use({ name, input }, { signal, step, at }) {
      const method = methods.get(name);
      if (!method) return { result: { error: `There is no tool ${name}.` }, failed: true };
      caller ??= bus.as(principal);
      const key = at === undefined ? `${turnId}/${step}` : `${turnId}/${step}/${at}`;
      const options = { ...ids, signal, key, timeoutMs: left() };
      try {
        const result = await caller.call(method.name as 'system.ping', input as Record<string, never>, options);
        return { result: cut(result, config.maxToolResultChars), failed: false };
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return { result: { error: cut(toldOf(error, method), config.maxToolResultChars) }, failed: true };
      }
    },
  };
}

/** What the model reads of a call that failed: also that nobody knows whether it acted, where that is so and matters. */
function toldOf({ code, message, details }: ServiceError, { idempotent }: Callable): string {
  const told = `${code}: ${message}`;
  return details['mayHaveRun'] === true && !idempotent ? `${OUTCOME_UNKNOWN} It was not repeated. ${told}` : told;
}

/** Of a call that must not be made twice, and that may have been carried out. */
export const OUTCOME_UNKNOWN = 'STEP_OUTCOME_UNKNOWN: whether the call did anything is unknown.';

/** One agent and one set of scopes are offered the same tools until the agent's configuration changes. */
const offers = new WeakMap<ToolPolicy, Map<string, Offer>>();

function offerTo(scopes: readonly TokenScope[], policy: ToolPolicy, { counted, earlier }: { counted: boolean; earlier: boolean }): Offer {
  let byScopes = offers.get(policy);
  if (!byScopes) offers.set(policy, (byScopes = new Map()));
  const key = [...new Set<string>(scopes), ...(counted ? ['counted'] : []), ...(earlier ? ['earlier'] : [])].sort().join(' ');
  let offer = byScopes.get(key);
  if (!offer) {
    const may = ({ method: { name, scope = 'rpc' } }: Tool): boolean => allows(policy, name) && within([scope], scopes);
    const tools = [...served(), ...(earlier ? ownTools('ctx.') : []), ...(counted ? ownTools('dev.') : [])].filter(may);
    offer = { specs: tools.map(({ spec }) => spec), methods: new Map(tools.map(({ spec, method }) => [spec.name, method])) };
    byScopes.set(key, offer);
  }
  return offer;
}

let known: readonly Tool[] | undefined;

function served(): readonly Tool[] {
  known ??= [...publicMethods.values()].filter((method) => method.tool && !unserved.has(method.name as MethodName)).map(toTool);
  return known;
}

/** Operations of this service that only turns reach: those of `SWITCHYARD_DEV_TOOLS`, and those that look up what was said. */
function ownTools(namespace: 'ctx.' | 'dev.'): readonly Tool[] {
  return Object.keys(sessions.operations)
    .filter((name) => name.startsWith(namespace))
    .flatMap((name) => callables.get(name) ?? [])
    .map(toTool);
}

function toTool(method: Callable): Tool {
  const parameters = inputSchema(method.spec.params);
  return { method, spec: { name: toolName(method.name), description: method.spec.summary, parameters } };
}

/** What a model is shown of a result: all of it, or its beginning and a word on how much is missing. */
function cut(result: unknown, maxChars: number): unknown {
  const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
  if (text.length <= maxChars) return result;
  return `${text.slice(0, maxChars).toWellFormed()}… [cut: ${text.length - maxChars} of ${text.length} characters left out]`;
}
