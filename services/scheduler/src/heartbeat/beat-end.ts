import type { Bus } from '@switchyard/bus';
import type { Sections, TurnEndRecord } from '@switchyard/contracts';
import type { Collection, OutboxEvent } from '@switchyard/store';
import type { Lease, Outcome } from '@switchyard/work';
import { deliver, findSuppression, rememberText, type DeliveryResult } from './beat-delivery.ts';
import type { BeatDocument, EventDocument } from './beat-document.ts';
import { countBeatError } from './beat-errors.ts';
import { readReply, type HeartbeatReply } from './heartbeat-reply.ts';
import type { HeartbeatSettings } from './heartbeat-settings.ts';

const REASON_CHARS = 2_048;

/** The fields of the current beat, once it is over. */
export const CLEARED = {
  turnKey: undefined,
  turnId: undefined,
  turnPending: undefined,
  startedAt: undefined,
  reason: undefined,
  eventIds: undefined,
  alerts: undefined,
} as const;

/** Ends a beat that failed. Its events stay unread for the next one. */
export function failBeat(beat: BeatDocument, message: string, settings: HeartbeatSettings, now: number): Outcome<BeatDocument> {
  const { set, emit } = countBeatError(beat, message, settings, now);
  return { parkUntil: now, set: { ...CLEARED, lastRunAt: beat.startedAt ?? now, ...set }, emit };
}

export interface FinishBeatDeps {
  events: Collection<EventDocument>;
  bus: Bus;
  now: () => number;
  settings: () => Pick<Sections['scheduler'], 'quietHours'>;
}

interface FinishBeatOptions {
  settings: HeartbeatSettings;
  turn: TurnEndRecord | undefined;
}

/** Ends a beat whose turn has ended: delivers its reply, or says why not. */
export async function finishBeat(
  deps: FinishBeatDeps,
  lease: Lease<BeatDocument>,
  { settings, turn }: FinishBeatOptions,
): Promise<Outcome<BeatDocument>> {
  const { document: beat, tenant } = lease;
  const { startedAt = deps.now(), eventIds = [] } = beat;
  if (turn?.state !== 'done') {
    const message = turn ? (turn.failure?.message ?? `the turn was ${turn.state}`) : 'the turn of this heartbeat no longer exists';
    return failBeat(beat, message, settings, deps.now());
  }
  const reply = readReply(turn.result?.response ?? '', settings.ackMaxChars);
  const end = await deliverReply(deps, lease, { settings, reply });
  const events = deps.events.for({ tenant });
  for (const eventId of eventIds) await events.update({ eventId }, { unset: ['unread'] });
  const { target } = settings;
  const isDelivered = end?.outcome === 'delivered' && reply.level !== 'ok';
  return {
    parkUntil: deps.now(),
    set: {
      ...CLEARED,
      lastRunAt: startedAt,
      lastOutcome: reply.level,
      lastReason: end?.reason?.slice(0, REASON_CHARS),
      consecutiveErrors: 0,
      lastErrorKind: undefined,
      backoffUntil: undefined,
      ...(isDelivered ? { sent: rememberText(beat.sent ?? [], reply.text, deps.now()) } : {}),
    },
    emit: end && target ? [deliveredEvent({ beat, target, level: reply.level, end }, deps.now())] : [],
  };
}

interface DeliverReplyOptions {
  settings: HeartbeatSettings;
  reply: HeartbeatReply;
}

/** Returns undefined for a heartbeat without a target. */
async function deliverReply(
  { bus, now, settings: scheduler }: FinishBeatDeps,
  lease: Lease<BeatDocument>,
  { settings, reply }: DeliverReplyOptions,
): Promise<DeliveryResult | undefined> {
  const { target, responsePrefix = '' } = settings;
  const { document: beat, tenant } = lease;
  const { turnKey = '', sent = [] } = beat;
  if (!target || !lease.isHeld()) return undefined;
  const reason = findSuppression({ reply, settings, quietHours: scheduler().quietHours, sent, now: now() });
  if (reason !== undefined) return { outcome: 'skipped', reason };
  const text = `${responsePrefix}${reply.text === '' ? 'HEARTBEAT_OK' : reply.text}`;
  return deliver(bus, { tenant, beat: { ...beat, turnKey }, target, text, level: reply.level });
}

interface DeliveredEventOptions {
  beat: BeatDocument;
  target: NonNullable<HeartbeatSettings['target']>;
  level: HeartbeatReply['level'];
  end: DeliveryResult;
}

function deliveredEvent({ beat, target, level, end }: DeliveredEventOptions, timestamp: number): OutboxEvent {
  const { agentId, startedAt = timestamp } = beat;
  const { channelType, channelId, chatId } = target;
  const { outcome, reason } = end;
  const durationMs = Math.max(timestamp - startedAt, 0);
  const why = reason === undefined ? {} : { reason: reason.slice(0, REASON_CHARS) };
  return {
    name: 'scheduler:heartbeat_delivered',
    payload: { agentId, channelType, channelId, chatId, level, outcome, ...why, durationMs, timestamp },
  };
}
