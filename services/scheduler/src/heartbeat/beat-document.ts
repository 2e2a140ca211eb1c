import { AgentId } from '@switchyard/contracts';
import { collection, json } from '@switchyard/store';
import { workFields, workIndex } from '@switchyard/work';
import { z } from 'zod';

const instant = z.int().nonnegative();
const count = z.int().nonnegative();

/** Events that no heartbeat has read are removed after this time. */
const EVENT_TTL_MS = 2 * 86_400_000;
/** The texts of the deliveries of one day, as digests. */
const BEAT_BYTES = 262_144;

export const WakeReason = z.enum(['interval', 'manual', 'hook', 'wake']);
export type WakeReason = z.infer<typeof WakeReason>;

/** A text that was delivered, for the suppression of duplicates. */
const SentText = z.object({ digest: z.string(), at: instant });
export type SentText = z.infer<typeof SentText>;

/** The heartbeat of an agent. As work it waits for the next beat, or for the end of the turn of the current one. */
export const BeatDocument = z.object({
  ...workFields,
  agentId: AgentId,
  /** Beats are at whole intervals after this time, so that a late beat does not move later ones. */
  createdAt: instant,
  /** The interval for which the next beat was computed; 0 without one. */
  plannedIntervalMs: count.default(0),
  /** All beats up to this instant are over. */
  beatUntil: instant,
  /** Wakes ever requested, and how many of them a beat has served. */
  wakeCount: count.default(0),
  wakesServed: count.default(0),
  wakeReason: WakeReason.optional(),
  wakePriority: count.default(0),
  /** The first wake that no beat has served. */
  wakeAt: instant.optional(),
  /** The current beat: the key of its turn, its reason, and the events that its turn reads. */
  turnKey: z.string().optional(),
  reason: WakeReason.optional(),
  eventIds: json(z.array(z.string())).optional(),
  /** Alerts of the system checks that the turn of the current beat reads. */
  alerts: json(z.array(z.string())).optional(),
  /** Keys of the alerts that the last system checks raised. */
  alertKeys: json(z.array(z.string())).optional(),
  turnId: z.string().optional(),
  /** Set while the turn has not ended, for the sweep that asks for ends. */
  turnPending: z.literal(true).optional(),
  startedAt: instant.optional(),
  lastRunAt: instant.optional(),
  lastOutcome: z.enum(['ok', 'alert', 'critical', 'skipped', 'error']).optional(),
  /** Why the last beat was skipped or failed, or its text was not delivered. */
  lastReason: z.string().optional(),
  consecutiveErrors: count.default(0),
  lastErrorKind: z.enum(['transient', 'permanent']).optional(),
  backoffUntil: instant.optional(),
  lastAlertAt: instant.optional(),
  sent: json(z.array(SentText)).optional(),
});
export type BeatDocument = z.infer<typeof BeatDocument>;

export const beatCollection = collection({
  name: 'beats',
  schema: BeatDocument,
  key: 'agentId',
  maxBytes: BEAT_BYTES,
  indexes: [workIndex, { fields: ['turnPending'], across: true, sparse: true }],
});

/** A text from a webhook that the next heartbeat of the agent reads. */
export const EventDocument = z.object({
  /** The agent and the key of the delivery, so that a repeated delivery is one event. */
  eventId: z.string(),
  agentId: AgentId,
  source: z.string(),
  text: z.string(),
  receivedAt: instant,
  /** Set while no heartbeat has read it. */
  unread: z.literal(true).optional(),
});
export type EventDocument = z.infer<typeof EventDocument>;

export const eventCollection = collection({
  name: 'heartbeat_events',
  schema: EventDocument,
  key: 'eventId',
  indexes: [{ fields: ['agentId', 'unread', 'receivedAt'] }],
  expires: { field: 'receivedAt', afterMs: EVENT_TTL_MS },
});
