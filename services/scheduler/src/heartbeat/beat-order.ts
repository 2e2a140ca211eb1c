import type { Bus } from '@switchyard/bus';
import { ServiceError, TurnTools, type Principal, type TurnEndRecord } from '@switchyard/contracts';
import type { Agent } from '@switchyard/service-kit';
import type { BeatDocument, EventDocument } from './beat-document.ts';
import type { HeartbeatSettings } from './heartbeat-settings.ts';

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_TOOLS = { profile: 'heartbeat-minimal' } as const;
/** Earlier beats that the model reads, unless `lightContext` is set. */
const HISTORY_TURNS = 3;

const DEFAULT_PROMPT = 'Read HEARTBEAT.md and do what it says. Do not repeat tasks of earlier conversations.';
const TOKEN_RULE = 'If nothing needs attention, reply with HEARTBEAT_OK and nothing else.';

/** The principal of all heartbeats of a tenant. With an agent it may use this agent only. */
export function createHeartbeatPrincipal(tenant: string, agentId?: string): Principal {
  const own = agentId === undefined ? {} : { agents: [agentId], agent: agentId };
  return { tenant, client: 'scheduler/heartbeat', scopes: ['rpc'], ...own };
}

export interface BeatOrder {
  beat: BeatDocument & { turnKey: string };
  agent: Agent;
  settings: HeartbeatSettings;
  events: readonly EventDocument[];
}

/** Orders the turn of a beat and returns its id. A repeated order with the same key returns the same turn. */
export async function orderBeat(bus: Bus, { beat, agent, settings, events }: BeatOrder): Promise<string> {
  const { agentId, turnKey } = beat;
  const { heartbeat: operation } = agent.config.operationModels;
  const model = settings.model ?? operation?.model;
  const { alerts = [] } = beat;
  const context = [
    ...(alerts.length === 0 ? [] : [{ title: 'System checks', text: alerts.join('\n') }]),
    ...events.filter(({ text }) => text !== '').map(({ source, text }) => ({ title: `Event from ${source}`, text })),
  ];
  try {
    const { turnId } = await bus.as(createHeartbeatPrincipal(agent.tenant, agentId)).call('turns.order', {
      message: createMessage(settings.prompt ?? DEFAULT_PROMPT),
      agentId,
      session: settings.session ?? { userId: `heartbeat:${agentId}`, agentId },
      idempotencyKey: turnKey,
      kind: 'heartbeat',
      origin: { service: 'scheduler', ref: turnKey },
      history: settings.lightContext === true ? { mode: 'fresh' } : { mode: 'rolling', turns: HISTORY_TURNS },
      tools: readTools(settings.toolPolicy),
      timeoutMs: Math.min(operation?.timeout ?? DEFAULT_TIMEOUT_MS, settings.staleMs),
      ...(model === undefined ? {} : { model }),
      ...(context.length === 0 ? {} : { context }),
    });
    return turnId;
  } catch (error) {
    // The settings were changed after an earlier order of this beat.
    const { reason, turnId } = error instanceof ServiceError ? error.details : {};
    if (reason === 'IDEMPOTENCY_MISMATCH' && turnId !== undefined) return turnId;
    throw error;
  }
}

function createMessage(prompt: string): string {
  return prompt.includes('HEARTBEAT_OK') ? prompt : `${prompt}\n\n${TOKEN_RULE}`;
}

function readTools(policy: HeartbeatSettings['toolPolicy']): TurnTools {
  if (policy === undefined) return DEFAULT_TOOLS;
  const { profile, allow, deny } = policy;
  const parsed = TurnTools.safeParse({ profile, allow, deny });
  if (parsed.success) return parsed.data;
  throw new ServiceError('INVALID_ARGUMENT', `The tool policy of the heartbeat is invalid: ${profile} is not a tool profile.`);
}

/** Returns how the turn stands; undefined if it does not exist. */
export async function readBeatTurn(bus: Bus, tenant: string, turnId: string): Promise<TurnEndRecord | undefined> {
  const { turns } = await bus.as(createHeartbeatPrincipal(tenant)).call('turns.ends', { turnIds: [turnId] });
  return turns[0];
}
