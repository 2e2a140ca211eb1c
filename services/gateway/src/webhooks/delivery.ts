import type { Bus, CallOptions } from '@switchyard/bus';
import { MAX, ServiceError, TURNS_LOG, WEBHOOK_CHANNEL, type Principal } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { hashText, type Mapping } from './mappings.ts';
import type { TemplateVariables } from './template.ts';

/** The settings of a mapping that apply to its turns. */
export type TurnSettings = 'name' | 'agentId' | 'sessionKey' | 'message' | 'model' | 'timeoutMs';

/** The turn of a delivery, in a session of its mapping. */
export interface HookTurn {
  mapping: Pick<Mapping, TurnSettings>;
  variables: TemplateVariables;
  /** The message if the mapping has no template. */
  fallbackMessage: string;
  /** The same key for every repetition of a delivery. */
  key: string;
  tenant: string;
}

/**
 * Submits the turn and waits until it is stored, so that a repetition within a day finds the same turn. Resolves with whether it was a
 * repetition. Does not wait for the end of the turn.
 */
export async function startHookTurn(bus: Bus, turn: HookTurn, options: CallOptions): Promise<{ repeated: boolean }> {
  const { mapping, variables, fallbackMessage, key, tenant } = turn;
  const turnId = mintId('turn');
  const senderBus = bus.as(createSenderPrincipal(mapping.name, tenant));
  const rendered = mapping.message?.(variables, MAX.text) ?? '';
  const params = {
    turnId,
    message: rendered.trim() === '' ? fallbackMessage.slice(0, MAX.text).toWellFormed() : rendered,
    session: { userId: createSessionUserId(mapping, variables), channelId: WEBHOOK_CHANNEL },
    idempotencyKey: key,
    ...(mapping.agentId === undefined ? {} : { agentId: mapping.agentId }),
    ...(mapping.model === undefined ? {} : { model: mapping.model }),
    ...(mapping.timeoutMs === undefined ? {} : { timeoutMs: mapping.timeoutMs }),
  };
  await bus.log(TURNS_LOG); // the log must exist before the first frame
  try {
    const accepted = await senderBus.call('turns.start', params, options);
    return { repeated: accepted.turnId !== turnId };
  } catch (error) {
    // The delivery was accepted before, with another time in the template or under another configuration.
    if (error instanceof ServiceError && error.details.reason === 'IDEMPOTENCY_MISMATCH') return { repeated: true };
    throw error;
  }
}

/**
 * The principal of a mapping. Token ids contain no `/`, so it equals no client. It can only use sessions that it created, whatever a
 * template renders.
 */
export function createSenderPrincipal(name: string, tenant: string): Principal {
  return { tenant, client: `webhook/${name}`, scopes: ['rpc'], sessions: 'own' };
}

const MAX_KEY_CHARS = 1_000;
const PLAIN_KEY = /^[A-Za-z0-9._:@-]{1,74}$/;

/** `hook:<mapping>:<key>`. A key that is too long or has other characters is replaced by its hash. */
function createSessionUserId({ name, sessionKey }: HookTurn['mapping'], variables: TemplateVariables): string {
  const prefix = `hook:${name}:`;
  const rendered = sessionKey?.(variables, MAX_KEY_CHARS).trim() ?? '';
  const key = rendered.startsWith(prefix) ? rendered.slice(prefix.length) : rendered;
  if (key === '') return `${prefix}webhook`;
  return prefix + (PLAIN_KEY.test(key) ? key : hashText(key));
}
