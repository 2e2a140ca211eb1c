import { createHash } from 'node:crypto';
import type { Bus } from '@switchyard/bus';
import { ServiceError, type Sections } from '@switchyard/contracts';
import { isQuiet } from '../quiet-hours/quiet-hours.ts';
import type { BeatDocument, SentText } from './beat-document.ts';
import { createHeartbeatPrincipal } from './beat-order.ts';
import type { HeartbeatReply } from './heartbeat-reply.ts';
import type { HeartbeatSettings } from './heartbeat-settings.ts';

/** Time in which the same text is delivered once, and the number of remembered texts. */
const DUPLICATE_WINDOW_MS = 86_400_000;
const MAX_SENT = 500;

export interface DeliveryDecisionOptions {
  reply: HeartbeatReply;
  settings: HeartbeatSettings;
  quietHours: Sections['scheduler']['quietHours'];
  sent: readonly SentText[];
  now: number;
}

/** Returns why a reply is not delivered to the target of the heartbeat; undefined if it is. */
export function findSuppression({ reply, settings, quietHours, sent, now }: DeliveryDecisionOptions): string | undefined {
  const { level, text, hasMedia } = reply;
  if (settings.target?.isDm === true && settings.allowDm !== true) return 'dm_not_allowed';
  if (hasMedia) return undefined;
  if (level === 'ok') {
    if (!settings.showOk || settings.skipHeartbeatOnlyDelivery === true) return 'heartbeat_ok';
  } else {
    if (text === '') return 'empty';
    if (!settings.showAlerts) return 'alerts_hidden';
    if (sent.some(({ digest, at }) => at > now - DUPLICATE_WINDOW_MS && digest === hash(text))) return 'duplicate';
  }
  const bypasses = level === 'critical' && quietHours.criticalBypass;
  return isQuiet(quietHours, now) && !bypasses ? 'quiet_hours' : undefined;
}

/** Returns the remembered texts with one more, without those that are too old. */
export function rememberText(sent: readonly SentText[], text: string, now: number): SentText[] {
  return [...sent.filter(({ at }) => at > now - DUPLICATE_WINDOW_MS), { digest: hash(text), at: now }].slice(-MAX_SENT);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

export interface DeliveryResult {
  outcome: 'delivered' | 'skipped' | 'failed';
  reason?: string;
}

export interface DeliveryOptions {
  tenant: string;
  beat: BeatDocument & { turnKey: string };
  target: NonNullable<HeartbeatSettings['target']>;
  text: string;
  level: HeartbeatReply['level'];
}

/** Queues the text at the channels service, once per beat. Throws while that service is installed but does not answer. */
export async function deliver(bus: Bus, { tenant, beat, target, text, level }: DeliveryOptions): Promise<DeliveryResult> {
  const { agentId, turnKey } = beat;
  try {
    const { suppressed } = await bus.as(createHeartbeatPrincipal(tenant, agentId)).call('deliver.send', {
      agentId,
      target: { channelType: target.channelType, channelId: target.chatId },
      text,
      priority: level === 'critical' ? 'critical' : 'normal',
      idempotencyKey: turnKey,
    });
    return suppressed === undefined ? { outcome: 'delivered' } : { outcome: 'skipped', reason: suppressed };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === 'UNAVAILABLE' && error.details.reason === 'NO_RESPONDERS') return { outcome: 'failed', reason: 'not_installed' };
    if (error.retryable) throw error;
    return { outcome: 'failed', reason: error.message };
  }
}
