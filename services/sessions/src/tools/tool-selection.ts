import { isScopeSubset, type AgentConfig, type TokenScope, type TurnTools } from '@switchyard/contracts';
import { listDeclaredTools, listOwnTools, listServedTools, toOfferedTool, type Tool } from './tool-catalog.ts';
import { deferTools, measureSchemas, type DeferredTools } from './tool-deferral.ts';
import { describeDiscover, DISCOVER_TOOL } from './tool-discovery.ts';
import { allows, isListed, type ToolPolicy } from './tool-policy.ts';
import type { ToolSpec } from '@switchyard/models';
import type { OfferedToolList } from './offered-tools.ts';
import { READ_RESULT_TOOL } from './tool-result-truncation.ts';
import { listPauseTools } from './pause-tools.ts';

/** Tools of a turn by agent, scopes and state of the turn. */
export interface ToolSelection extends DeferredTools {
  byName: ReadonlyMap<string, Tool>;
  /** Schemas of the visible tools, with `discover` if there are deferred ones. */
  specs: readonly ToolSpec[];
}

export interface SelectionOptions {
  scopes: readonly TokenScope[];
  /** Adds development tools. */
  counted: boolean;
  /** Adds tools for history lookup. */
  earlier: boolean;
  /** Adds the tool that reads stored results. */
  kept: boolean;
  /** Adds the tools at which a turn waits. */
  parks: boolean;
  /** Tools that the order of the turn and its skills leave to it. */
  narrowing: TurnTools | undefined;
  /** Tools of MCP servers and skills. */
  offered: OfferedToolList | undefined;
  /** Declared tools to choose from; default: those that are served. */
  declared?: readonly Tool[];
}

/** Selections by tool policy. They change only with the agent's configuration and with the offered tools. */
const selections = new WeakMap<ToolPolicy, Map<string, { offered: OfferedToolList | undefined; selection: ToolSelection }>>();

/** Selects the tools that the policy, the scopes and the order of a turn allow. */
export function selectTools(config: Pick<AgentConfig, 'skills' | 'deferredTools'>, options: SelectionOptions): ToolSelection {
  const { scopes, counted, earlier, kept, parks, narrowing, offered, declared } = options;
  if (declared !== undefined) return createSelection(config, options);
  const { toolPolicy } = config.skills;
  let known = selections.get(toolPolicy);
  if (!known) selections.set(toolPolicy, (known = new Map()));
  const narrowingKey = narrowing === undefined ? '' : JSON.stringify(narrowing);
  const key = `${counted ? '1' : '0'}${earlier ? '1' : '0'}${kept ? '1' : '0'}${parks ? '1' : '0'} ${getScopeKey(scopes)} ${narrowingKey}`;
  const found = known.get(key);
  if (found?.offered === offered && found) return found.selection;
  const selection = createSelection(config, options);
  // Orders choose their narrowing freely, so the number of entries has to be bounded.
  if (known.size >= MAX_SELECTIONS) known.clear();
  known.set(key, { offered, selection });
  return selection;
}

const MAX_SELECTIONS = 100;

function createSelection(
  { skills: { toolPolicy, promptSkills }, deferredTools }: Pick<AgentConfig, 'skills' | 'deferredTools'>,
  { scopes, counted, earlier, kept, parks, narrowing, offered, declared = listServedTools() }: SelectionOptions,
): ToolSelection {
  const { profile, allow, deny } = toolPolicy;
  const isAllowed = (tool: Tool): boolean =>
    allows({ profile, allow, deny }, tool) && isWithin(narrowing, tool) && isScopeSubset([tool.callable?.scope ?? 'rpc'], scopes);
  const lookup = earlier ? listOwnTools('ctx.').filter(({ method }) => method !== READ_RESULT_TOOL) : [];
  const optional = [...lookup, ...(parks ? listPauseTools() : []), ...(counted ? listOwnTools('dev.') : [])];
  const own = [...optional.filter(isAllowed), ...(kept ? listOwnTools(READ_RESULT_TOOL) : [])];
  // Declared names are reserved, whether they are allowed or not.
  const others = [...declared, ...(offered ?? []).filter(({ name }) => !isReserved(name)).map(toOfferedTool)].filter(isAllowed);
  const visibleSkills = listVisibleSkills(others, deferredTools, promptSkills.maxAutoInject);
  const deferring = { ...deferredTools, neverDefer: [...deferredTools.neverDefer, ...visibleSkills] };
  const { visible, deferred } = deferTools(others, deferring, measureSchemas(own));
  const shown = [...visible, ...own];
  return {
    visible: shown,
    deferred,
    byName: new Map([...deferred, ...shown].map((tool) => [tool.name, tool])),
    specs: [...shown.map(({ spec }) => spec), ...(deferred.length > 0 ? [describeDiscover(deferred)] : [])],
  };
}

/** Names the skills that a model sees without `discover`, unless the agent defers them. */
function listVisibleSkills(tools: readonly Tool[], { mode, alwaysDefer }: AgentConfig['deferredTools'], max: number): string[] {
  if (mode !== 'auto') return [];
  const skills = tools.filter((tool) => tool.group === 'skills' && !isListed(alwaysDefer, tool));
  return skills.slice(0, max).map(({ name }) => name);
}

let reservedCache: ReadonlySet<string> | undefined;

function isReserved(name: string): boolean {
  reservedCache ??= new Set([
    DISCOVER_TOOL,
    ...[...listDeclaredTools(), ...listPauseTools(), ...listOwnTools('ctx.'), ...listOwnTools('dev.')].map((tool) => tool.name),
  ]);
  return reservedCache.has(name);
}

function isWithin(narrowing: TurnTools | undefined, tool: Tool): boolean {
  if (narrowing === undefined) return true;
  const { profile = 'full', allow = [], deny = [], mcpServers, within = [] } = narrowing;
  if (tool.group === 'mcp' && mcpServers !== undefined && !mcpServers.includes(tool.provider ?? '')) return false;
  return allows({ profile, allow, deny }, tool) && within.every((list) => isListed(list, tool));
}

/** Scope keys by scope list, because a client sends the same list with every turn. */
const scopeKeys = new WeakMap<readonly TokenScope[], string>();

function getScopeKey(scopes: readonly TokenScope[]): string {
  let name = scopeKeys.get(scopes);
  if (name === undefined) scopeKeys.set(scopes, (name = [...new Set<string>(scopes)].sort().join(' ')));
  return name;
}
