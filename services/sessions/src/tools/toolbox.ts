import {
  describeTool,
  isScopeSubset,
  ServiceError,
  type AgentConfig,
  type Principal,
  type TokenScope,
  type TurnTools,
} from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { ToolCall, ToolChoice, ToolSpec } from '@switchyard/models';
import { withSpan } from '@switchyard/telemetry';
import { createResultTruncation, truncateResult, READ_RESULT_TOOL, type ResultStorage, type ToolResult } from './tool-result-truncation.ts';
import type { OfferedToolList } from './offered-tools.ts';
import { hasOutsideMark } from './outside-mark.ts';
import { addSkillLimit, limitTools, readSkillLimit, type SkillLimit } from '../model/skill-limits.ts';
import type { Tool } from './tool-catalog.ts';
import { DISCOVER_TOOL, discoverTools } from './tool-discovery.ts';
import { allows, type ToolPolicy } from './tool-policy.ts';
import { selectTools, type ToolSelection } from './tool-selection.ts';

/** Tools of one turn: their specifications and their execution. */
export interface ToolBox {
  specs: readonly ToolSpec[];
  /** Never throws for a tool error; the model reads it as a failed result. */
  use(call: Pick<ToolCall, 'name' | 'input'>, using: ToolUse): Promise<ToolResult>;
  /** Returns whether a call changes nothing, so that it may run in parallel. */
  isReadOnly(name: string): boolean;
  /** Returns whether a call may be repeated after an unknown outcome, according to its contract. */
  isIdempotent(name: string): boolean;
  /** Returns the tool of a name. */
  find?(name: string): Pick<Tool, 'method' | 'effect' | 'group'> | undefined;
  /** Returns whether a call may wait for a person. It is recorded as started only after that. */
  mayWait?(name: string): boolean;
}

/** Position of a call within its turn. */
export interface ToolUse {
  signal: AbortSignal;
  step: number;
  /** Position within the step, if the step has several calls. */
  at?: number | undefined;
  /** Request for approval that an earlier run of the turn waited for. */
  requestId?: string | undefined;
  /** Records that the call is started. Called once a person has approved it. */
  begin?: () => Promise<void>;
}

/** Tools that the caller of the turn executes. A call of one ends the turn. */
export interface CallerToolBox {
  specs: readonly ToolSpec[];
  choice?: ToolChoice;
  /** Whether several calls may be returned at once. */
  parallel: boolean;
  use?: never;
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
  /** Adds the tools at which a turn waits. */
  canPark?: boolean;
  /** Deferred tools that earlier runs of the turn have discovered. */
  discovered?: readonly string[];
  /** Tools that the order of the turn leaves to it. */
  narrowing?: TurnTools | undefined;
  /** Lists of tools of the skills that the turn has used. Each must contain a tool. */
  skillLimits?: readonly SkillLimit[];
  /** Tools of MCP servers and skills. */
  offered?: OfferedToolList | undefined;
  /** Declared tools to choose from; default: those that are served. */
  declared?: readonly Tool[];
}

/** Configuration of the agent that its tools depend on. */
export type ToolConfig = Pick<AgentConfig, 'skills' | 'deferredTools' | 'maxToolResultChars'>;

/**
 * Offers the tools that the agent may use within its principal's scopes. Declared tools are called over the bus like by a client, tools of
 * MCP servers and skills through `tools.use`. A repeated call uses the same idempotency key: turn, step, and position if the step has
 * several calls. A skill that lists its tools leaves only these to the calls after it.
 */
export function createToolBox(bus: Bus, principal: Principal, config: ToolConfig, turn: ToolTurn): ToolBox {
  const { countsExecutions = false, hasHistoryTools = false, canPark = false, narrowing, offered, declared } = turn;
  const { scopes } = principal;
  const { toolPolicy, toolDiscovery } = config.skills;
  const truncation = createResultTruncation(turn, {
    maxChars: config.maxToolResultChars,
    readable: () => mayReadResults(toolPolicy, scopes),
  });
  const select = (kept: boolean): ToolSelection =>
    selectTools(config, {
      scopes,
      counted: countsExecutions,
      earlier: hasHistoryTools,
      kept,
      parks: canPark,
      narrowing: limitTools(narrowing, limits),
      offered,
      ...(declared === undefined ? {} : { declared }),
    });
  let limits = turn.skillLimits ?? [];
  let selected = { kept: truncation.hasStored, limits };
  let selection = select(selected.kept);
  const getSelection = (): ToolSelection => {
    // The tool for stored results is offered only once there are some. A used skill leaves fewer tools.
    if (truncation.hasStored !== selected.kept || limits !== selected.limits) {
      selected = { kept: truncation.hasStored, limits };
      selection = select(selected.kept);
    }
    return selection;
  };
  const discovered = createDiscoveredTools(turn.discovered ?? []);
  const call = createToolCaller(bus, principal, turn);

  function discover(input: unknown): ToolResult {
    const result = discoverTools(getSelection().deferred, input, toolDiscovery);
    discovered.add(result.tools.map(({ name }) => name));
    return { result, failed: false };
  }

  async function use(tool: Tool, input: unknown, using: ToolUse): Promise<ToolResult> {
    const { result, failed } = await call(tool, input, using);
    // Read before the truncation, which leaves only text.
    const limit = failed ? undefined : readSkillLimit(tool, result);
    limits = addSkillLimit(limits, limit);
    const shown = failed || tool.method === READ_RESULT_TOOL ? { result, failed } : await truncation.truncate(result);
    // A truncated result is text, in which the marks cannot be found any more.
    return {
      ...shown,
      ...(hasOutsideMark(result) ? { untrusted: true } : {}),
      ...(limit === undefined ? {} : { allowedTools: limit }),
    };
  }

  return {
    get specs() {
      return discovered.addSpecs(getSelection());
    },
    find: (name) => getSelection().byName.get(name),
    isReadOnly: (name) => getSelection().byName.get(name)?.reads ?? name === DISCOVER_TOOL,
    // A call of an unknown tool has no effect and can be repeated.
    isIdempotent: (name) => getSelection().byName.get(name)?.idempotent ?? true,
    async use({ name, input }, using) {
      const tool = getSelection().byName.get(name);
      try {
        if (tool) return await use(tool, input, using);
        if (name === DISCOVER_TOOL && getSelection().deferred.length > 0) return discover(input);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        const { reason } = error.details;
        const shown = truncateResult(renderError(error, tool), config.maxToolResultChars);
        return { result: { error: shown }, failed: true, error: { code: error.code, ...(typeof reason === 'string' ? { reason } : {}) } };
      }
      return { result: { error: `Unknown tool ${name}.` }, failed: true, error: { code: 'NOT_FOUND', reason: 'UNKNOWN_TOOL' } };
    },
  };
}

/** The deferred tools that a turn has discovered. Their schemas follow those of the visible tools. */
function createDiscoveredTools(names: readonly string[]) {
  const discovered = new Set(names);
  let current: { selection?: ToolSelection; count: number; specs: readonly ToolSpec[] } = { count: 0, specs: [] };
  return {
    add(found: readonly string[]): void {
      for (const name of found) discovered.add(name);
    },
    /** Returns the same array until another tool is discovered. */
    addSpecs(selection: ToolSelection): readonly ToolSpec[] {
      if (discovered.size === 0) return selection.specs;
      if (current.selection !== selection || current.count !== discovered.size) {
        const found = selection.deferred.filter(({ name }) => discovered.has(name)).map(({ spec }) => spec);
        current = { selection, count: discovered.size, specs: [...selection.specs, ...found] };
      }
      return current.specs;
    },
  };
}

/** Calls tools as the principal of the turn. Throws a ServiceError for a call that was refused or failed. */
function createToolCaller(bus: Bus, principal: Principal, { turnId, requestId, traceparent, remainingMs }: ToolTurn) {
  const ids = { ...(requestId === undefined ? {} : { requestId }), ...(traceparent === undefined ? {} : { traceparent }) };
  let caller: Bus | undefined;
  return async ({ name, method }: Tool, input: unknown, { signal, step, at }: ToolUse): Promise<ToolResult> => {
    caller ??= bus.as(principal);
    const bound = caller;
    const key = at === undefined ? `${turnId}/${step}` : `${turnId}/${step}/${at}`;
    const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name, 'gen_ai.tool.call.id': key };
    return withSpan(`execute_tool ${name}`, attributes, traceparent, async (span) => {
      const parent = span.traceparent === undefined ? {} : { traceparent: span.traceparent };
      return repeatLostCalls(async () => {
        const options = { ...ids, ...parent, signal, key, timeoutMs: remainingMs() };
        if (method === undefined) return bound.call('tools.use', { name, input }, options);
        return { result: await bound.call(method as 'system.ping', input as Record<string, never>, options), failed: false };
      });
    });
  };
}

/** Calls again if the replica that served an idempotent call ended before it replied. */
async function repeatLostCalls<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      const isLost = error instanceof ServiceError && error.code === 'UNAVAILABLE' && error.details['mayHaveRun'] === true;
      if (!isLost || !error.retryable || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Renders the error of a failed call for the model. Says that the outcome is unknown if that matters. */
function renderError({ code, message, details }: ServiceError, tool: Tool | undefined): string {
  const absent = tool !== undefined && tool.method === undefined && details['reason'] === 'NO_RESPONDERS';
  const sent = `${code}: ${message}${absent ? ' It is not installed, or it is starting.' : ''}`;
  return details['mayHaveRun'] === true && tool?.idempotent === false ? `${OUTCOME_UNKNOWN} The call was not repeated. ${sent}` : sent;
}

/** Attempts of an idempotent call whose replica ends. */
const MAX_ATTEMPTS = 3;

/** Prefix for a call that must not be repeated and may have been executed. */
export const OUTCOME_UNKNOWN = 'STEP_OUTCOME_UNKNOWN: it is unknown whether the call had an effect.';

/** An agent may read results of its own tools with any profile, unless that is denied. */
function mayReadResults({ allow, deny }: ToolPolicy, scopes: readonly TokenScope[]): boolean {
  return (
    allows({ profile: 'full', allow, deny }, { ...describeTool(READ_RESULT_TOOL), method: READ_RESULT_TOOL }) &&
    isScopeSubset(['rpc'], scopes)
  );
}
