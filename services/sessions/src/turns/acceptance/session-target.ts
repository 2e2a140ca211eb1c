import { CallerId, canUseAgent, invalidParams, type Principal } from '@switchyard/contracts';
import type { AgentDirectory } from '../../agents/agent-directory.ts';
import { resolveDefaultAgent } from '../../agents/agent-resolution.ts';
import type { Bindings } from '../../agents/agent-bindings.ts';
import { formatSessionKey, parseSessionKey, resolveSession, type SessionAddress, type SessionIdentity } from '../../model/session-key.ts';

export interface SessionTargetDeps {
  agents: AgentDirectory;
  /** Agent bindings for messages that name no agent; undefined when none are configured. */
  bindings: () => Bindings | undefined;
}

interface SessionTargetRequest {
  agentId?: string | undefined;
  session?: SessionAddress | undefined;
}

/** Resolves the session and the agent that a request addresses. */
export function resolveSessionTarget({ agents, bindings }: SessionTargetDeps, request: SessionTargetRequest, principal: Principal) {
  const standard = agents.default(principal.tenant).agentId;
  const requested = request.agentId ?? principal.agent ?? boundAgent(agents, bindings(), { request, principal });
  const own = resolveDefaultAgent(agents, principal);
  const named = requested ?? (own === standard ? undefined : own);
  const identity = resolveSession(request.session, principal, named === standard ? undefined : named);
  return { named, standard, identity, key: formatSessionKey(identity) };
}

/** Looks up the agent bound to the channel. A request with a session key is not subject to bindings. */
function boundAgent(
  agents: AgentDirectory,
  bindings: Bindings | undefined,
  { request: { session }, principal }: { request: SessionTargetRequest; principal: Principal },
): string | undefined {
  if (!bindings || (typeof session === 'string' && parseSessionKey(session) !== undefined)) return undefined;
  const identity = resolveSession(session, principal, undefined);
  const agentId = identity.agentId === undefined ? bindings.findAgentId(identity) : undefined;
  return agentId !== undefined && canUseAgent(principal, agentId) && agents.find(principal.tenant, agentId) ? agentId : undefined;
}

/** Validates the ids of a session that was given as a key or as a channel. Those were not validated as separate fields. */
export function requireIds({ tenant: _tenant, agentId: _agentId, ...parts }: SessionIdentity, { client }: Principal): void {
  const wrong = Object.entries(parts).find(([, part]) => part !== client && !CallerId.safeParse(part).success)?.[0];
  if (wrong === undefined) return;
  const [path, expected] = [`sessionKey.${wrong}`, CallerId.description ?? 'an id'];
  throw invalidParams([{ path, expected, received: 'another string', message: `${path}: expected ${expected}, got another string` }]);
}
