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
import { createShortening, cut, READ_ON, type Keeping, type ToolResult } from './tool-result-truncation.ts';
import { allows, type ToolPolicy } from '../agents/tool-policy.ts';

/** The tools of one turn: what the model is told of, and how a call of it is answered. */
export interface ToolBox {
  specs: readonly ToolSpec[];
  /** Never throws for what a tool says: a failure is a result the model can read. */
  use(call: Pick<ToolCall, 'name' | 'input'>, using: ToolUse): Promise<ToolResult>;
  /** Whether a call changes nothing at all: it may be made beside others. */
  reads(name: string): boolean;
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

interface Tool {
  method: Callable;
  spec: ToolSpec;
}

interface Offer {
  specs: readonly ToolSpec[];
  methods: ReadonlyMap<string, Callable>;
}

/** The turn that tools are for. */
export interface ToolTurn extends Keeping {
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
  turn: ToolTurn,
): ToolBox {
  const { requestId, traceparent, left, counted = false, earlier = false } = turn;
  const ids = { ...(requestId === undefined ? {} : { requestId }), ...(traceparent === undefined ? {} : { traceparent }) };
  const { scopes } = principal;
  const { toolPolicy } = config.skills;
  const shortening = createShortening(turn, { maxChars: config.maxToolResultChars, readable: () => mayReadOn(toolPolicy, scopes) });
  let offered = offerTo(scopes, toolPolicy, { counted, earlier, kept: shortening.kept });
  let withKept = shortening.kept;
  const offer = (): Offer => {
    // There is nothing to be read on until something was kept.
    if (shortening.kept && !withKept) {
      withKept = true;
      offered = offerTo(scopes, toolPolicy, { counted, earlier, kept: true });
    }
    return offered;
  };
  let caller: Bus | undefined;
  return {
    get specs() {
      return offer().specs;
    },
    reads: (name) => offer().methods.get(name)?.reads ?? false,
    // A name that is no tool does nothing, however often.
    repeatable: (name) => offer().methods.get(name)?.idempotent ?? true,
    async use({ name, input }, { signal, step, at }) {
      const method = offer().methods.get(name);
      if (!method) return { result: { error: `There is no tool ${name}.` }, failed: true };
      caller ??= bus.as(principal);
      const key = at === undefined ? `${turn.turnId}/${step}` : `${turn.turnId}/${step}/${at}`;
      const options = { ...ids, signal, key, timeoutMs: left() };
      try {
        const result: unknown = await caller.call(method.name as 'system.ping', input as Record<string, never>, options);
        return method.name === READ_ON ? { result, failed: false } : await shortening.shown(result);
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

/** Of its own tools’ answers an agent may read all, whatever its profile has, unless it is denied. */
function mayReadOn({ allow, deny }: ToolPolicy, scopes: readonly TokenScope[]): boolean {
  return allows({ profile: 'full', allow, deny }, READ_ON) && isScopeSubset(['rpc'], scopes);
}

/** One agent and one set of scopes are offered the same tools until the agent's configuration changes. */
const offers = new WeakMap<ToolPolicy, Map<string, Offer>>();

interface Offering {
  counted: boolean;
  earlier: boolean;
  kept: boolean;
}

function offerTo(scopes: readonly TokenScope[], policy: ToolPolicy, { counted, earlier, kept }: Offering): Offer {
  let byScopes = offers.get(policy);
  if (!byScopes) offers.set(policy, (byScopes = new Map()));
  const key = `${counted ? '1' : '0'}${earlier ? '1' : '0'}${kept ? '1' : '0'} ${nameOf(scopes)}`;
  let offer = byScopes.get(key);
  if (!offer) {
    const may = ({ method: { name, scope = 'rpc' } }: Tool): boolean => allows(policy, name) && isScopeSubset([scope], scopes);
    const lookedUp = ownTools('ctx.').filter(({ method }) => method.name !== READ_ON);
    const own = [...(earlier ? lookedUp : []), ...(counted ? ownTools('dev.') : [])];
    const tools = [...[...served(), ...own].filter(may), ...(kept ? ownTools(READ_ON) : [])];
    offer = { specs: tools.map(({ spec }) => spec), methods: new Map(tools.map(({ spec, method }) => [spec.name, method])) };
    byScopes.set(key, offer);
  }
  return offer;
}

/** One client comes with one list again and again. */
const namesOf = new WeakMap<readonly TokenScope[], string>();

function nameOf(scopes: readonly TokenScope[]): string {
  let name = namesOf.get(scopes);
  if (name === undefined) namesOf.set(scopes, (name = [...new Set<string>(scopes)].sort().join(' ')));
  return name;
}

let known: readonly Tool[] | undefined;

function served(): readonly Tool[] {
  known ??= [...publicMethods.values()].filter((method) => method.tool && !unserved.has(method.name as MethodName)).map(toTool);
  return known;
}

/** Operations of this service that only turns reach: those of `SWITCHYARD_DEV_TOOLS`, and those that look up what was said. */
function ownTools(namespace: 'ctx.' | 'dev.' | typeof READ_ON): readonly Tool[] {
  return Object.keys(sessions.operations)
    .filter((name) => name.startsWith(namespace))
    .flatMap((name) => callables.get(name) ?? [])
    .map(toTool);
}

function toTool(method: Callable): Tool {
  const parameters = inputSchema(method.spec.params);
  return { method, spec: { name: toolName(method.name), description: method.spec.summary, parameters } };
}
