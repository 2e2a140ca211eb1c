import type { Handler } from '@switchyard/bus';
import { ServiceError, TurnEvidence, type Principal, type Result } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { AgentDirectory } from '../../agents/agent-directory.ts';
import { resolveAgentId } from '../../agents/agent-resolution.ts';
import { wholeTree } from '../../context/compaction/summary-builder.ts';
import { toTokens } from '../../context-window/context-window.ts';
import type { SessionDocument } from '../../model/session-document.ts';
import type { SummaryDocument } from '../../model/summary-document.ts';
import { canSee } from '../../model/session-ownership.ts';
import { resolveSessionKey } from '../../model/session-key.ts';
import { waitUntilSettled, type SettlingDeps } from '../../sessions/session-settling.ts';

type Node = Result<'context.tree'>['nodes'][number];
type EvidentTurn = NonNullable<Result<'context.tree'>['turns']>[number];

const EPOCH = 'epoch_';
const PREVIEW_CHARS = 500;

export interface ContextTreeDeps extends SettlingDeps {
  agents: AgentDirectory;
  summaries: Collection<SummaryDocument>;
}

/**
 * Returns the summary tree of a conversation from the root down. Returns NOT_FOUND for a conversation of another agent, tenant or
 * client.
 */
export function contextTree(deps: ContextTreeDeps): Handler<'context.tree'> {
  return async ({ conversation_id, turns }, { principal }) => {
    const session = await conversation(deps, principal, conversation_id);
    const { roots = [], messageCount } = session;
    const folded = roots.reduce((sum, { messages }) => sum + messages, 0);
    return {
      conversationId: session.epoch,
      nodes: await getNodes(deps, principal.tenant, session),
      messageCount: messageCount - folded,
      ...(turns === 0 ? {} : { turns: await evidentTurns(deps, principal, { session, limit: turns }) }),
    };
  };
}

/** Returns the traces of the last turns, newest first. */
async function evidentTurns(
  { turns }: ContextTreeDeps,
  principal: Principal,
  { session: { epoch, lastSeq }, limit }: { session: SessionDocument; limit: number },
): Promise<EvidentTurn[]> {
  const { items } = await turns.for(principal).find({ epoch, seq: { gt: 0, lte: lastSeq } }, { sort: [['seq', 'desc']], limit });
  return items.map(({ turnId, seq = 0, createdAt, trace }) => {
    return { turnId, turn: seq, at: createdAt, ...(trace === undefined ? {} : { evidence: TurnEvidence.parse(JSON.parse(trace)) }) };
  });
}

/** Finds a conversation by its epoch or by the session key. */
async function conversation(deps: ContextTreeDeps, principal: Principal, named: string): Promise<SessionDocument> {
  const key = named.startsWith(EPOCH) ? await getKey(deps, principal, named) : resolveSessionKey(named, principal);
  const seen = key === undefined ? null : await deps.sessions.for(principal).get(key);
  const session = seen && (await waitUntilSettled(deps, principal.tenant, seen));
  const isIt = !named.startsWith(EPOCH) || session?.epoch === named;
  const theirs = session && isIt && canSee(principal, session) && session.agentId === resolveAgentId(deps.agents, principal);
  if (!theirs) throw new ServiceError('NOT_FOUND', 'Conversation not found.');
  return session;
}

/** Resolves an epoch to a session key through a finished turn. */
async function getKey({ turns }: ContextTreeDeps, principal: Principal, epoch: string): Promise<string | undefined> {
  const { items } = await turns.for(principal).find({ epoch, seq: { gt: 0 } }, { sort: [['seq', 'asc']], limit: 1 });
  return items[0]?.sessionKey;
}

/** Returns each node once, level by level. */
async function getNodes(deps: ContextTreeDeps, tenant: string, session: SessionDocument): Promise<Node[]> {
  const summaries = await wholeTree(deps, tenant, session);
  const parents = new Map(summaries.flatMap(({ id, children }) => children.map((child) => [child, id])));
  return summaries.map((one) => toNode(one, parents.get(one.id)));
}

function toNode({ id, depth, text, children, taint, createdAt }: SummaryDocument, parent: string | undefined): Node {
  return {
    summaryId: id,
    kind: depth === 0 ? 'leaf' : 'condensed',
    depth,
    tokenCount: toTokens(text.length),
    contentPreview: text.slice(0, PREVIEW_CHARS).toWellFormed(),
    childIds: children,
    parentIds: parent === undefined ? [] : [parent],
    taint,
    createdAt,
  };
}
