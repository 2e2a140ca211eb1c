import {
  callables,
  inputSchema,
  publicMethods,
  ServiceError,
  sessions,
  toolName,
  unserved,
  isScopeSubset,
  type AgentConfig,
  type Callable,
  type MethodName,
  type Principal,
  type TokenScope,
} from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { ToolCall, ToolChoice, ToolSpec } from '@switchyard/models';
import { createResultTruncation, truncateResult, READ_RESULT_TOOL, type ResultStorage, type ToolResult } from './tool-result-truncation.ts';
import { allows, type ToolPolicy } from '../agents/tool-policy.ts';

/** Tools of one turn: their specifications and their execution. */
export interface ToolBox {
  specs: readonly ToolSpec[];
  /** Never throws for a tool error; the model reads it as a failed result. */
  use(call: Pick<ToolCall, 'name' | 'input'>, using: ToolUse): Promise<ToolResult>;
  /** Returns whether a call changes nothing, so that it may run in parallel. */
  isReadOnly(name: string): boolean;
  /** Returns whether a call may be repeated after an unknown outcome, according to its contract. */
  isIdempotent(name: string): boolean;
}

/** Position of a call within its turn. */
export interface ToolUse {
  signal: AbortSignal;
  step: number;
  /** Position within the step, if the step has several calls. */
  at?: number | undefined;
}

/** Tools that the caller of the turn executes. A call of one ends the turn. */
export interface CallerToolBox {
  specs: readonly ToolSpec[];
  choice?: ToolChoice;
  /** Whether several calls may be returned at once. */
  parallel: boolean;
  use?: never;
}

interface Tool {
  method: Callable;
  spec: ToolSpec;
}

interface Offer {
  specs: readonly ToolSpec[];
  methods: ReadonlyMap<string, Callable>;
}

/** The turn that the tools belong to. */
export interface ToolTurn extends ResultStorage {
  turnId: string;
  /** Ids for logs and traces of the calls. */
  requestId?: string | undefined;
  traceparent?: string | undefined;
  /** Remaining time of the turn in milliseconds, which limits each call. */
  remainingMs: () => number;
  /** Adds development tools whose executions are counted. */
  countsExecutions?: boolean;
  /** Adds tools for history lookup, because the prompt does not contain the whole conversation. */
  hasHistoryTools?: boolean;
}

/**
 * Offers every method that the agent may call within its principal's scopes. Calls go over the bus like those of a client. A repeated call
 * uses the same idempotency key: turn, step, and position if the step has several calls.
 */
export function createToolBox(
  bus: Bus,
  principal: Principal,
  config: Pick<AgentConfig, 'skills' | 'maxToolResultChars'>,
  turn: ToolTurn,
): ToolBox {
  const { requestId, traceparent, remainingMs, countsExecutions = false, hasHistoryTools = false } = turn;
  const ids = { ...(requestId === undefined ? {} : { requestId }), ...(traceparent === undefined ? {} : { traceparent }) };
  const { scopes } = principal;
  const { toolPolicy } = config.skills;
  const shortening = createResultTruncation(turn, {
    maxChars: config.maxToolResultChars,
    readable: () => mayReadResults(toolPolicy, scopes),
  });
  let offered = getOffer(scopes, toolPolicy, { counted: countsExecutions, earlier: hasHistoryTools, kept: shortening.hasStored });
  let withKept = shortening.hasStored;
  const offer = (): Offer => {
    // The tool for stored results is offered only once there are some.
    if (shortening.hasStored && !withKept) {
      withKept = true;
      offered = getOffer(scopes, toolPolicy, { counted: countsExecutions, earlier: hasHistoryTools, kept: true });
    }
    return offered;
  };
  let caller: Bus | undefined;
  return {
    get specs() {
      return offer().specs;
    },
    isReadOnly: (name) => offer().methods.get(name)?.reads ?? false,
    // A call of an unknown tool has no effect and can be repeated.
    isIdempotent: (name) => offer().methods.get(name)?.idempotent ?? true,
    async use({ name, input }, { signal, step, at }) {
      const method = offer().methods.get(name);
      if (!method) return { result: { error: `Unknown tool ${name}.` }, failed: true };
      caller ??= bus.as(principal);
      const key = at === undefined ? `${turn.turnId}/${step}` : `${turn.turnId}/${step}/${at}`;
      const options = { ...ids, signal, key, timeoutMs: remainingMs() };
      try {
        const result: unknown = await caller.call(method.name as 'system.ping', input as Record<string, never>, options);
        return method.name === READ_RESULT_TOOL ? { result, failed: false } : await shortening.truncate(result);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return { result: { error: truncateResult(renderError(error, method), config.maxToolResultChars) }, failed: true };
      }
    },
  };
}

/** Renders the error of a failed call for the model. Says that the outcome is unknown if that matters. */
function renderError({ code, message, details }: ServiceError, { idempotent }: Callable): string {
  const sent = `${code}: ${message}`;
  return details['mayHaveRun'] === true && !idempotent ? `${OUTCOME_UNKNOWN} The call was not repeated. ${sent}` : sent;
}

/** Prefix for a call that must not be repeated and may have been executed. */
export const OUTCOME_UNKNOWN = 'STEP_OUTCOME_UNKNOWN: it is unknown whether the call had an effect.';

/** An agent may read results of its own tools with any profile, unless that is denied. */
function mayReadResults({ allow, deny }: ToolPolicy, scopes: readonly TokenScope[]): boolean {
  return allows({ profile: 'full', allow, deny }, READ_RESULT_TOOL) && isScopeSubset(['rpc'], scopes);
}

/** Offers by tool policy and scopes. They change only with the agent's configuration. */
const offers = new WeakMap<ToolPolicy, Map<string, Offer>>();

interface OfferOptions {
  counted: boolean;
  earlier: boolean;
  kept: boolean;
}

function getOffer(scopes: readonly TokenScope[], policy: ToolPolicy, { counted, earlier, kept }: OfferOptions): Offer {
  let byScopes = offers.get(policy);
  if (!byScopes) offers.set(policy, (byScopes = new Map()));
  const key = `${counted ? '1' : '0'}${earlier ? '1' : '0'}${kept ? '1' : '0'} ${getScopeKey(scopes)}`;
  let offer = byScopes.get(key);
  if (!offer) {
    const may = ({ method: { name, scope = 'rpc' } }: Tool): boolean => allows(policy, name) && isScopeSubset([scope], scopes);
    const lookedUp = ownTools('ctx.').filter(({ method }) => method.name !== READ_RESULT_TOOL);
    const own = [...(earlier ? lookedUp : []), ...(counted ? ownTools('dev.') : [])];
    const tools = [...[...listServed(), ...own].filter(may), ...(kept ? ownTools(READ_RESULT_TOOL) : [])];
    offer = { specs: tools.map(({ spec }) => spec), methods: new Map(tools.map(({ spec, method }) => [spec.name, method])) };
    byScopes.set(key, offer);
  }
  return offer;
}

/** Scope keys by scope list, because a client sends the same list with every turn. */
const scopeKeys = new WeakMap<readonly TokenScope[], string>();

function getScopeKey(scopes: readonly TokenScope[]): string {
  let name = scopeKeys.get(scopes);
  if (name === undefined) scopeKeys.set(scopes, (name = [...new Set<string>(scopes)].sort().join(' ')));
  return name;
}

let servedCache: readonly Tool[] | undefined;

function listServed(): readonly Tool[] {
  servedCache ??= [...publicMethods.values()].filter((method) => method.tool && !unserved.has(method.name as MethodName)).map(toTool);
  return servedCache;
}

/** Operations that only turns may call: development tools and history lookup. */
function ownTools(namespace: 'ctx.' | 'dev.' | typeof READ_RESULT_TOOL): readonly Tool[] {
  return Object.keys(sessions.operations)
    .filter((name) => name.startsWith(namespace))
    .flatMap((name) => callables.get(name) ?? [])
    .map(toTool);
}

function toTool(method: Callable): Tool {
  const parameters = inputSchema(method.spec.params);
  return { method, spec: { name: toolName(method.name), description: method.spec.summary, parameters } };
}
